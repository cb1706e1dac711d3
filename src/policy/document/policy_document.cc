#include "policy/document/policy_document.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "document/document_builder.h"
#include "document/fields.h"
#include "policy/document/policy_reader.h"
#include "policy/multi_rate/multi_rate_document.h"
#include "policy/snapshot/conflicts.h"
#include "policy/snapshot/limits_per_request.h"

namespace sluice {

namespace {

// Whether the document is a list of policies, not a single policy.
bool is_list_of_policies(const DocumentNode& tree) { return tree.find("policies") || tree.find("domains"); }

// Sets the id of the document's only policy, unless it has one.
void put_missing_id(DocumentNode& tree, std::string_view id) {
  DocumentNode* policy = &tree;
  if (is_list_of_policies(tree)) {
    const bool is_one = tree.items.size() == 1 && tree.items[0].items.size() == 1 && tree.find("policies");
    if (!is_one) return;
    policy = &tree.items[0].items[0];
  }
  if (policy->kind == DocumentNode::Kind::kMap && !policy->find("id")) put(*policy, "id", text_node(id));
}

void read_document(const DocumentNode& tree, const Place& top, std::vector<WrittenPolicy>& out) {
  if (tree.find("domains")) return read_multi_rate_document(tree, top, out);

  constexpr std::array<std::string_view, 1> kNames = {"policies"};
  const Fields fields(tree, top, kNames);
  if (!fields.is_map()) return;
  fields.missing("policies");
  const DocumentNode* list = fields.node("policies");
  const Place place = top.field("policies");
  if (!list || !is_list(*list, place)) return;
  if (list->items.size() > kPoliciesMax)
    return place.report(list->line, "there are more than " + std::to_string(kPoliciesMax) + " policies");
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const DocumentNode& node = list->items[i];
    const Place here = place.item(i);
    if (auto policy = read_policy(node, here))
      out.push_back({std::move(*policy), top.file, node.line, here.path()});
  }
}

}  // namespace

void parse_policies(std::string_view text, const std::string& file, std::vector<WrittenPolicy>& out,
                    Problems& problems) {
  if (const auto tree = parse_document_tree(text, file, problems)) read_policies(*tree, file, out, problems);
}

void read_policies(const DocumentNode& tree, const std::string& file, std::vector<WrittenPolicy>& out,
                   Problems& problems) {
  const Place top{file, problems};
  if (tree.kind == DocumentNode::Kind::kNull)
    return top.report(0, "the file is empty; to have no policies, write `policies: []`");
  read_document(tree, top, out);
}

std::optional<Policy> parse_policy(std::string_view text, const std::string& name, Problems& problems,
                                   std::string_view id) {
  auto tree = parse_document_tree(text, name, problems);
  if (!tree) return std::nullopt;
  if (!id.empty()) put_missing_id(*tree, id);
  const Place top{name, problems};
  if (!is_list_of_policies(*tree)) return read_policy(*tree, top);

  const std::size_t problems_before = problems.count();
  std::vector<WrittenPolicy> policies;
  read_document(*tree, top, policies);
  if (problems.count() > problems_before) return std::nullopt;
  if (policies.size() == 1) return std::move(policies[0].policy);
  top.report(tree->line,
             "there are " + std::to_string(policies.size()) + " policies; exactly one is expected here");
  return std::nullopt;
}

void check_together(const std::vector<WrittenPolicy>& policies, Problems& problems) {
  if (policies.size() > kPoliciesMax)
    problems.add({"", 0, "policies",
                  "there are more than " + std::to_string(kPoliciesMax) + " policies in all files"});
  std::vector<const Policy*> pointers;
  for (const WrittenPolicy& written : policies) pointers.push_back(&written.policy);
  for (Conflict& conflict : find_conflicts(pointers)) {
    const WrittenPolicy& first = policies[conflict.first];
    const WrittenPolicy& second = policies[conflict.second];
    problems.add(
        {second.file, second.line, second.path + '.' + conflict.field,
         conflict.message + " (the other one is at " + first.file + ':' + std::to_string(first.line) + ')'});
  }
  for (TooManyLimits& too_many : find_too_many_limits(pointers)) {
    const auto contributes = [&](const WrittenPolicy& written) {
      return std::ranges::find(too_many.policies, &written.policy) != too_many.policies.end();
    };
    const auto last = std::ranges::find_if(policies.rbegin(), policies.rend(), contributes);
    problems.add({last->file, last->line, last->path + '.' + std::string(too_many.field),
                  std::move(too_many.message)});
  }
}

}  // namespace sluice

#pragma once

namespace CLI {
class App;
}

namespace sluice::cli {

// `sluice audit list`, which asks a server; `sluice audit verify` reads the database itself.
void add_audit_list(CLI::App& audit, int& exit_code);

}  // namespace sluice::cli

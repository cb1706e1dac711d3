# Turns a file into a C++ array: cmake -DINPUT=… -DOUTPUT=… -P embed_descriptors.cmake
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT}
  "#include \"doors/descriptor_index.h\"\n\n"
  "namespace sluice::doors {\n\n"
  "static constexpr unsigned char kBytes[] = {\n    ${bytes}};\n\n"
  "std::string_view embedded_descriptor_set() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }\n\n"
  "}  // namespace sluice::doors\n")

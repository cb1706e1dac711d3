# Turns a file into a C++ function that returns its bytes:
# cmake -DINPUT=… -DOUTPUT=… -DHEADER=doors/x.h -DFUNCTION=embedded_x -P embed_file.cmake
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT}
  "#include \"${HEADER}\"\n\n"
  "namespace sluice::doors {\n\n"
  "static constexpr unsigned char kBytes[] = {\n    ${bytes}};\n\n"
  "std::string_view ${FUNCTION}() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }\n\n"
  "}  // namespace sluice::doors\n")

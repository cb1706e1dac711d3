# cmake -DSCRIPT=… -DFUNCTION=… -DOUTPUT=… -P embed_script.cmake: the script as a C++ file that defines FUNCTION().
file(READ ${SCRIPT} text)
file(WRITE ${OUTPUT} "#include \"store/redis/script/script.h\"

namespace sluice {

std::string_view ${FUNCTION}() {
  return R\"lua(${text})lua\";
}

}  // namespace sluice
")

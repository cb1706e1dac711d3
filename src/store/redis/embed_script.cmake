# cmake -DSCRIPT=… -DOUTPUT=… -P embed_script.cmake: the script as a C++ file that defines redis_script().
file(READ ${SCRIPT} text)
file(WRITE ${OUTPUT} "#include \"store/redis/script.h\"

namespace sluice {

std::string_view redis_script() {
  return R\"lua(${text})lua\";
}

}  // namespace sluice
")

# Writes the file OUTPUT, which defines rules_version() as a hash of the FILES (separated by commas).
string(REPLACE "," ";" files "${FILES}")
set(all "")
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 version "${all}")
file(
  WRITE ${OUTPUT}
  "#include \"interpose/programs/rules_version.h\"\n\n"
  "namespace cleave::interpose {\n\n"
  "std::string_view rules_version() { return \"${version}\"; }\n\n"
  "}  // namespace cleave::interpose\n")

#include "interface.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace sortium::kernels {
namespace {

constexpr std::string_view spaces = " \t\n";

[[noreturn]] void refuse(const Source& source, const std::string& what) {
  throw Error(ErrorCode::build_failed, fmt::format("{}: {}", source.name, what));
}

std::string_view trim(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(spaces), text.size());
  const auto end = text.find_last_not_of(spaces);
  return end == text.npos ? "" : text.substr(begin, end + 1 - begin);
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

// The position of the next "KERNEL(" or "KERNEL_RESIDENT(" at or after `from`.
std::size_t next_kernel(std::string_view text, std::size_t from) {
  return std::min(text.find("KERNEL(", from), text.find("KERNEL_RESIDENT(", from));
}

KernelText::Parameter parse_parameter(const Source& source, std::string_view kernel,
                                      std::string_view text) {
  const auto declaration = trim(text);
  const auto name_at = declaration.find_last_of(" *\n") + 1;  // 0: there is no type
  const auto name = declaration.substr(name_at), type = trim(declaration.substr(0, name_at));
  const bool is_pointer = type.starts_with("GLOBAL ") && type.ends_with("*");
  const unsigned bytes = type == "u32" ? 4 : type == "u64" ? 8 : 0;
  if (!is_identifier(name) || (!is_pointer && bytes == 0))
    refuse(source, fmt::format("kernel {}: parameter '{}' is no 'GLOBAL T* name', 'u32 name' or "
                               "'u64 name'",
                               kernel, declaration));
  return {text, type, name, bytes};
}

// The type in the kernel's LOCAL_STRUCT(type, name); empty if it has none.
std::string_view find_local_struct(const Source& source, std::string_view kernel,
                                   std::string_view body) {
  constexpr std::string_view word = "LOCAL_STRUCT(";
  const auto at = body.find(word);
  if (at == body.npos) return {};
  if (body.find(word, at + word.size()) != body.npos)
    refuse(source, fmt::format("kernel {}: more than one LOCAL_STRUCT", kernel));
  const auto type = at + word.size();
  return trim(body.substr(type, body.find(',', type) - type));
}

KernelText parse_kernel(const Source& source, std::size_t at, std::size_t next) {
  const auto text = source.text;
  KernelText k;
  const auto name_at = text.find("void", at) + std::string_view("void").size();
  k.parameters_begin = text.find('(', name_at) + 1;
  k.parameters_end = text.find(')', k.parameters_begin);
  k.body = text.find('{', k.parameters_end) + 1;
  k.name = trim(text.substr(name_at, k.parameters_begin - 1 - name_at));
  if (!is_identifier(k.name))
    refuse(source, fmt::format("kernel '{}': a kernel's name is written out", k.name));
  for (auto begin = k.parameters_begin; begin < k.parameters_end;) {
    const auto end = std::min(text.find(',', begin), k.parameters_end);
    k.parameters.push_back(parse_parameter(source, k.name, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  k.local_struct = find_local_struct(source, k.name, text.substr(k.body, next - k.body));
  return k;
}

// The names in the source's lines PARAMETER(NAME). clang-format may put NAME into the next line.
std::vector<std::string_view> declared_parameters(const Source& source) {
  constexpr std::string_view word = "\nPARAMETER(";
  std::vector<std::string_view> names;
  for (auto at = source.text.find(word); at != source.text.npos;
       at = source.text.find(word, at + 1)) {
    const auto name = source.text.find_first_not_of(" \n", at + word.size());
    names.push_back(source.text.substr(name, source.text.find(')', name) - name));
  }
  return names;
}

}  // namespace

std::vector<KernelText> find_kernels(const Source& source) {
  std::vector<KernelText> kernels;
  for (auto at = next_kernel(source.text, 0); at != source.text.npos;) {
    const auto next = next_kernel(source.text, at + 1);
    kernels.push_back(parse_kernel(source, at, next));
    at = next;
  }
  return kernels;
}

Signatures signatures(const std::vector<Source>& sources, const Defines& defines) {
  Signatures out;
  for (const auto& source : sources)
    for (const auto& kernel : find_kernels(source)) {
      Signature s;
      for (const auto& p : kernel.parameters)
        s.parameters.push_back({std::string(p.name), p.bytes});
      s.local_bytes = defines.local_bytes(kernel.local_struct);
      out[kernel.name] = std::make_shared<const Signature>(std::move(s));
    }
  return out;
}

void check_parameters(const std::vector<Source>& sources, const Defines& defines) {
  std::vector<std::string_view> declared;
  for (const auto& source : sources)
    for (const auto name : declared_parameters(source)) {
      if (std::ranges::find(defines.parameters(), name) == defines.parameters().end())
        refuse(source, fmt::format("parameter {} is not defined", name));
      declared.push_back(name);
    }
  for (const auto& name : defines.parameters())
    if (std::ranges::find(declared, name) == declared.end())
      refuse(sources.back(),
             fmt::format("{} is defined but is not a parameter; the parameters are {}", name,
                         fmt::join(declared, ", ")));
}

}  // namespace sortium::kernels

// Compose's commands: a text in place of a list is cut into words as Compose does it, and no shell runs it.
#pragma once

#include <string>

#include "model/base/error.h"
#include "model/yaml/yaml.h"

namespace stepcast::launch {

/// A file of services, and no manifest of Kubernetes.
bool is_compose_file(const YamlNode& document);
/// Whether the service's entrypoint or command is a text.
bool has_compose_text(const YamlNode& service);
/// Entrypoint and command as one command of a shell that has the words that Compose makes of them: a newline outside
/// quotes is a blank, and what stands behind ; & | < > is left out. A line of it is one of the file. Errors: a
/// backslash before a blank, which becomes a part of the next word; brackets; quotes that do not close.
Expected<std::string> compose_text(const YamlNode& service, const std::string& where);
/// The line of the file where that text begins.
std::size_t compose_line(const YamlNode& service);
/// What all services run, each on its lines of the file behind its environment.
Expected<std::string> compose_script(const YamlNode& document, const std::string& where);

}  // namespace stepcast::launch

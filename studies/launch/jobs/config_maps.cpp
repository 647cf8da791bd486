#include "studies/launch/jobs/config_maps.h"

#include <algorithm>

#include <fmt/format.h>

#include "studies/launch/jobs/pods.h"

namespace stepcast::launch {
namespace {

std::string path_in(std::string folder, std::string_view name) {
  while (folder.ends_with('/')) folder.pop_back();
  return fmt::format("{}/{}", folder, name);
}

/// Where a key of the map lies below its mount: under its own name, or as items: says; "" = it is not among these.
std::string path_of_key(const YamlNode* items, const std::string& key) {
  if (items == nullptr) return key;
  for (const YamlNode& item : items->items)
    if (manifest_text(item.find("key")) == key) return manifest_text(item.find("path"));
  return "";
}

/// The texts of one map, below one mount; "subPath" picks one of them, and the mount is that file.
void add_files(
    const YamlNode& data, const YamlNode* items, const YamlNode& mount, std::vector<calibrate::LaunchFile>& out) {
  const std::string folder = manifest_text(mount.find("mountPath")), picked = manifest_text(mount.find("subPath"));
  for (const YamlNode& entry : data.entries) {
    const std::string path = path_of_key(items, entry.key);
    if (path.empty() || (!picked.empty() && picked != path)) continue;
    const auto line = static_cast<std::size_t>(std::max(1, entry.position.line));
    out.push_back({picked.empty() ? path_in(folder, path) : folder, entry.text, line, {}});
  }
}

}  // namespace

const YamlNode* ConfigMaps::data(std::string_view name) const {
  for (const YamlNode& document : documents_)
    if (manifest_text(document.find("kind")) == "ConfigMap" &&
        manifest_text(node_inside(&document, {"metadata", "name"})) == name)
      return document.find("data");
  return nullptr;
}

std::vector<calibrate::LaunchFile> ConfigMaps::mounted(const YamlNode* pod, const YamlNode& container) const {
  std::vector<calibrate::LaunchFile> files;
  const YamlNode *volumes = node_inside(pod, {"volumes"}), *mounts = container.find("volumeMounts");
  if (volumes == nullptr || mounts == nullptr) return files;
  for (const YamlNode& mount : mounts->items) {
    const std::string name = manifest_text(mount.find("name"));
    const auto volume =
        std::ranges::find(volumes->items, name, [](const YamlNode& one) { return manifest_text(one.find("name")); });
    const YamlNode* map = volume == volumes->items.end() ? nullptr : volume->find("configMap");
    const YamlNode* texts = map == nullptr ? nullptr : data(manifest_text(map->find("name")));
    if (texts != nullptr) add_files(*texts, map->find("items"), mount, files);
  }
  return files;
}

PodVariables ConfigMaps::variables(const YamlNode& container, std::vector<std::string>& untold) const {
  PodVariables out;
  if (const YamlNode* sources = container.find("envFrom"))
    for (const YamlNode& source : sources->items) {
      const YamlNode *map = source.find("configMapRef"), *secret = source.find("secretRef");
      const std::string name = manifest_text(node_inside(map == nullptr ? secret : map, {"name"}));
      const YamlNode* texts = map == nullptr ? nullptr : data(name);
      if (texts == nullptr)
        untold.push_back(fmt::format("{} {:.60}", map == nullptr ? "the secret" : "the ConfigMap", name));
      else
        for (const YamlNode& entry : texts->entries)
          out.emplace_back(manifest_text(source.find("prefix")) + entry.key, entry.text);
    }
  const YamlNode* list = container.find("env");
  if (list == nullptr) return out;
  for (const YamlNode& item : list->items) {
    const YamlNode *name = item.find("name"), *value = item.find("value");
    if (name == nullptr) continue;
    if (const YamlNode* key = node_inside(&item, {"valueFrom", "configMapKeyRef"}))
      if (const YamlNode* texts = data(manifest_text(key->find("name"))))
        value = texts->find(manifest_text(key->find("key")));
    if (value != nullptr) out.emplace_back(name->text, value->text);  // values of secrets and fields are not there
  }
  return out;
}

}  // namespace stepcast::launch

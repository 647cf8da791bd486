// The statements of a map: par, stage, for, home, move, save, recompute, chip levels, with their `at` scope.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/notation/arch_properties.h"
#include "dataflow/notation/fabrics.h"
#include "dataflow/notation/parser.h"
#include "model/base/contains.h"
#include "model/base/quantity_text.h"

namespace stepcast::dataflow {
namespace {

template <typename T> struct Keyword {
  std::string_view text;
  T value;
};

constexpr std::array manner_words{Keyword<Manner>{"gather", Manner::gather},
    Keyword<Manner>{"multicast", Manner::multicast}, Keyword<Manner>{"rotate", Manner::rotate},
    Keyword<Manner>{"reduce", Manner::reduce}, Keyword<Manner>{"scatter", Manner::scatter},
    Keyword<Manner>{"exchange", Manner::exchange}, Keyword<Manner>{"p2p", Manner::p2p}};
constexpr std::array life_words{Keyword<Life>{"pass", Life::pass}, Keyword<Life>{"microbatch", Life::microbatch},
    Keyword<Life>{"step", Life::step}};
constexpr std::array<std::string_view, 7> move_option_names{"as", "in", "bucket", "staged", "ahead", "life", "dedupe"};

template <typename Rows> std::vector<std::string> keyword_texts(const Rows& rows) {
  std::vector<std::string> all;
  for (const auto& row : rows) {
    if constexpr (requires { row.text; }) all.emplace_back(row.text);
    else all.emplace_back(row);
  }
  return all;
}

/// The row that the token names, or nullptr.
template <typename Rows> const auto* keyword_row(const Rows& rows, std::string_view text) {
  const auto row = std::ranges::find_if(rows, [&](const auto& row) { return row.text == text; });
  return row == rows.end() ? nullptr : &*row;
}

constexpr std::array<std::string_view, 7> statement_words{"at", "par", "for", "home", "move", "save", "recompute"};

constexpr std::string_view par_form = "par DIM[*DIM] on AXIS[*AXIS] [block|zigzag|cyclic(N)|list [N,N]]";
constexpr std::string_view stage_form = "par layer on AXIS [cyclic(N)|zigzag|list [N,N]] sched NAME for mb:N or mb:*";
constexpr std::string_view for_form = "for DIM:N, for DIM:N? or for DIM:*";
constexpr std::string_view home_form = "home WHAT: DIM|*|full|partial on AXIS[*AXIS] [skew AXIS], ...";
constexpr std::string_view move_form =
    "move TENSOR[, TENSOR] gather|multicast|rotate|reduce|scatter|exchange|p2p [as DTYPE] [in chunks N] "
    "[bucket unit|none|N MB] [staged] [ahead N] [life pass|microbatch|step] [dedupe AXIS]";
constexpr std::string_view save_form = "save TENSOR TENSOR at home|use";
constexpr std::string_view recompute_form = "recompute TAG TAG [whole] [layers N]";

}  // namespace

/// statement := ["at" TAG ("," TAG)* ":"] (body | level_line)
Statement Parser::statement() {
  struct Row {
    std::string_view text, form;
    Body (Parser::*read)();
  };
  static constexpr std::array<Row, 6> rows{{{"par", par_form, &Parser::par}, {"for", for_form, &Parser::for_loop},
      {"home", home_form, &Parser::home}, {"move", move_form, &Parser::move}, {"save", save_form, &Parser::save},
      {"recompute", recompute_form, &Parser::recompute}}};
  Statement result;
  result.position = position();
  if (accept("at")) {
    form_ = "at TAG[, TAG]: STATEMENT";
    result.scope = list("a tag", true);
    expect(":");
  }
  if (at_level_line()) {
    result.body = level_line();
    end_statement();
    return result;
  }
  const Row* row = keyword_row(rows, peek().text);
  if (row == nullptr) {
    fail_here("a statement", keyword_texts(rows));
    return result;
  }
  next();
  form_ = row->form;
  result.body = (this->*row->read)();
  end_statement();
  form_ = {};
  return result;
}

bool is_common_tag(std::string_view tag) {
  static constexpr std::string_view common[] = {"embed", "norm", "attn", "attn.qkv", "attn.core", "attn.out",
      "residual", "mlp", "router", "dispatch", "expert", "combine", "shared", "head", "loss"};
  return contains(common, tag);
}

Expected<void> check_tag(
    const std::string& tag, std::vector<std::string> known, const std::string& where, std::string_view none) {
  if (contains(known, tag)) return {};
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return fail(where, fmt::format("{} the tag '{}'", none, tag), name_hint(tag, known));
}

std::vector<std::string> notation_keywords() {
  std::vector<std::string> all{"max=", "min=", "softmax=", "select", "route", "scan", "opaque", "where", "pad", "none",
      "on", "block", "zigzag", "cyclic", "list", "layer", "sched", "mb", "weights", "grads", "optimizer", "boundary",
      "full", "partial", "skew", "chunks", "unit", "at", "use", "whole", "layers", "multicast", "reduce"};
  const auto add = [&](const std::vector<std::string>& words) { all.insert(all.end(), words.begin(), words.end()); };
  add({program_keywords.begin(), program_keywords.end()});
  for (const auto& row : statement_words) all.emplace_back(row);
  add(keyword_texts(manner_words));
  add(keyword_texts(life_words));
  add(keyword_texts(move_option_names));
  add(property_names());
  for (const FabricRow& row : fabric_rows) all.emplace_back(row.name);
  return all;
}

std::vector<std::string> Parser::statement_keywords() { return {statement_words.begin(), statement_words.end()}; }

bool Parser::at_statement() const {
  if (at_operator()) return false;
  if (at_level_line()) return true;
  static const std::vector<std::string> keywords = statement_keywords();
  return contains(keywords, peek().text);
}

/// par := "par" ("none" | product) "on" product [layout];  `par layer` is a stage
Parser::Body Parser::par() {
  ParStatement par;
  if (!accept("none")) par.dims = product("a dim, or 'none'");
  if (!par.dims.empty() && par.dims.front() == "layer") return stage(par.dims);
  expect("on");
  par.axes = product("an axis");
  par.layout = layout();
  return par;
}

/// stage := "par" "layer" "on" AXIS [layout] "sched" NAME "for" "mb" ":" (INT | "*")
Parser::Body Parser::stage(const std::vector<std::string>& dims) {
  form_ = stage_form;
  StageStatement stage;
  if (dims.size() > 1) fail_here("'on': layers are laid on one axis alone");
  expect("on");
  stage.axis = plain_name("an axis");
  stage.layout = layout();
  expect("sched");
  stage.schedule = schedule_name();
  expect("for");
  expect("mb");
  expect(":");
  if (!accept("*")) stage.micro_batches = integer(1);
  return stage;
}

/// Schedules are named like catalogue rows: 1f1b, gpipe, interleaved-1f1b. The parts stand without blanks.
std::string Parser::schedule_name() {
  const auto part = [&] { return peek().kind == TokenKind::name || peek().kind == TokenKind::word; };
  if (!part()) {
    fail_here("the name of a schedule");
    return {};
  }
  std::string name(next().text);
  const auto adjacent = [&] { return tokens_[index_ - 1].text.end() == peek().text.begin(); };
  while (at("-") && adjacent()) {
    next();
    if (!part() || !adjacent()) fail_here("the rest of the schedule's name behind '-'");
    name += "-" + std::string(next().text);
  }
  return name;
}

/// layout := "block" | "zigzag" | "cyclic" "(" INT ")" | ["zigzag"] "list" "[" INT ("," INT)* "]"
Layout Parser::layout() {
  Layout layout;
  if (accept("block")) return layout;
  if (accept("zigzag")) {
    layout.kind = Layout::Kind::zigzag;
  } else if (accept("cyclic")) {
    layout.kind = Layout::Kind::cyclic;
    expect("(");
    layout.cyclic = integer(1);
    expect(")");
  }
  const bool takes_list = layout.kind != Layout::Kind::cyclic;
  if (takes_list && accept("list")) {
    if (layout.kind == Layout::Kind::block) layout.kind = Layout::Kind::list;
    expect("[");
    do layout.list.push_back(integer(0));
    while (!failed() && (accept(",") || peek().kind == TokenKind::number));
    expect("]");
  }
  return layout;
}

/// for := "for" DIM count
Parser::Body Parser::for_loop() { return for_statement(); }

ForStatement Parser::for_statement() {
  ForStatement loop;
  loop.dim = plain_name("a dim");
  count(loop.count, loop.ragged);
  return loop;
}

/// home := "home" WHAT ":" place ("," place)*
Parser::Body Parser::home() {
  HomeStatement home;
  home.what = name("a tensor, 'weights', 'grads', 'optimizer' or 'boundary'");
  expect(":");
  do home.places.push_back(home_place());
  while (accept(","));
  return home;
}

/// place := (product | "*" | "full" | "partial") "on" product ["skew" AXIS];  a compound dim is kept as "g*r"
HomePlace Parser::home_place() {
  HomePlace place;
  if (accept("*")) place.what = "*";
  else
    for (const std::string& dim : product("a dim, '*', 'full' or 'partial'"))
      place.what += place.what.empty() ? dim : "*" + dim;
  expect("on");
  place.axes = product("an axis");
  if (accept("skew")) place.skew = plain_name("an axis");
  return place;
}

/// move := "move" WHAT ("," WHAT)* (manner | option)+
Parser::Body Parser::move() {
  MoveStatement move;
  move.what = list("a tensor, 'weights' or 'grads'", true);
  if (at_statement_end())
    fail_here("how it moves", fmt::format("one of: {}", fmt::join(keyword_texts(manner_words), ", ")));
  move_options(move);
  return move;
}

/// Manner and options stand in any order, each once.
void Parser::move_options(MoveStatement& move) {
  std::array<bool, move_option_names.size()> seen{};
  while (!at_statement_end()) {
    const auto* manner = keyword_row(manner_words, peek().text);
    if (manner != nullptr && move.manner == Manner::unset) {
      move.manner = manner->value;
      next();
      continue;
    }
    const auto* option = std::ranges::find(move_option_names, peek().text);
    if (option == move_option_names.end()) {
      std::vector<std::string> known = keyword_texts(move_option_names);
      const bool manner_free = move.manner == Manner::unset;
      if (manner_free)
        for (const auto& row : manner_words) known.emplace_back(row.text);
      return fail_here(manner_free ? "a manner or an option of move" : "an option of move", known);
    }
    bool& again = seen[option - move_option_names.begin()];
    if (again) return fail_here("each option of move once");
    again = true;
    next();
    if (*option == "as") {
      move.as = plain_name("a number type");
    } else if (*option == "in") {
      expect("chunks");
      move.chunks = integer(1);
    } else if (*option == "bucket") {
      move.bucket = bucket();
    } else if (*option == "staged") {
      move.staged = true;
    } else if (*option == "ahead") {
      move.ahead = static_cast<int>(integer(0, 1'000'000));
    } else if (*option == "life") {
      const auto* row = keyword_row(life_words, peek().text);
      if (row == nullptr) return fail_here("how long the copy lives", keyword_texts(life_words));
      move.life = row->value;
      next();
    } else {
      move.dedupe = plain_name("an axis");
    }
  }
}

/// bucket := "unit" | "none" | INT UNIT, kept as "25 MB"
std::string Parser::bucket() {
  if (accept("unit")) return "unit";
  if (accept("none")) return "none";
  const Token here = peek();
  std::string size;
  if (peek().kind == TokenKind::word) {
    const std::string_view word = next().text;
    const std::size_t digits = word.find_first_not_of("0123456789");
    size = fmt::format("{} {}", word.substr(0, digits), word.substr(digits));
  } else {
    if (peek().kind != TokenKind::number) fail_here("'unit', 'none' or a size such as 25 MB");
    size = next().text;
    if (peek().kind == TokenKind::name) size += " " + std::string(next().text);
  }
  if (failed()) return {};
  const Expected<Bytes> bytes = parse_quantity<Bytes>(size, {});
  if (!bytes) fail_at(here, bytes.error().what, bytes.error().hint);
  return size;
}

/// save := "save" TENSOR+ "at" ("home" | "use")
Parser::Body Parser::save() {
  SaveStatement save;
  do {
    save.tensors.push_back(name("a tensor"));
    accept(",");
  } while (!failed() && !at("at") && !at_statement_end());
  expect("at");
  save.at_use = accept("use");
  if (!save.at_use && !accept("home")) fail_here("'home' or 'use'", std::vector<std::string>{"home", "use"});
  return save;
}

/// recompute := "recompute" TAG+ ["whole"] ["layers" INT]
Parser::Body Parser::recompute() {
  RecomputeStatement recompute;
  do {
    recompute.tags.push_back(name("a tag"));
    accept(",");
  } while (!failed() && !at("whole") && !at("layers") && !at_statement_end());
  recompute.whole = accept("whole");
  if (accept("layers")) recompute.layers = integer(1);
  return recompute;
}

}  // namespace stepcast::dataflow

// What a span is, and how each is shown. The order is that of the data: kinds of spans, passes, kinds of actions.

const SPAN_KINDS = ["kernel", "wait", "move"];
const PASSES = ["forward", "recompute", "input gradient", "weight gradient", "step"];
const ACTIONS = [
  { letter: "F", name: "forward", colour: "forward" },
  { letter: "B", name: "backward", colour: "backward" },
  { letter: "I", name: "input gradient", colour: "input" },
  { letter: "W", name: "weight gradient", colour: "weight" },
];
const PASS_COLOURS = ["forward", "recompute", "input", "weight", "step"];

/** What the boxes above the picture show and hide. */
const FILTERS = [
  { key: "kernel", name: "kernels" },
  { key: "wait", name: "waits" },
  { key: "move", name: "moves" },
  { key: "send", name: "sends" },
];

// The words of the tour, of the help and of its list of keys.

export const guideText = {
  tour: {
    count: (at: number, all: number) => `Tour, ${at} of ${all}`,
    back: "Back",
    next: "Next",
    end: "Done",
    leave: "Leave the tour",
    stops: {
      load: {
        title: "One request of one warp",
        text: "Three kernels, one row each. At the top lies x in HBM. 32 lanes read 128 bytes that lie side by side: the ribbon falls straight down, and the bar under each element says that it was read once.",
      },
      passes: {
        title: "The same bytes, not the same place",
        text: "All kernels have moved as many bytes now. The two online ones are done. The safe one has read x twice, for m and for d, and has its third pass still before it.",
      },
      correction: {
        title: "One multiplication repairs the sum",
        text: "m has just risen. What d holds was summed against the old m. The bead is the factor that makes it right, without reading anything again.",
      },
      fault: {
        title: "A race, and its proof",
        text: "Every lane reads the maximum in one shared cell while another warp already stores its first exponential there. Both lines are marked. Try another order of warps, or apply the fix.",
      },
      yours: {
        title: "Now it is yours",
        text: "Change the code: it is run when you pause, on this machine, without a GPU. A click on a line number goes to its next execution, a click on a barrier takes it out.",
      },
    },
  },
  help: {
    title: "Keys",
    close: "Close",
    shortcuts: "Shortcuts",
    readTitle: "How to read the machine",
    read: [
      "The larger a value, the more its cell stands out, within the range of its buffer. A hatched cell was never set.",
      "A bar under an element is one pass: it fills when the element is read.",
      "An outline is a read, a double outline a write, red with a pattern a fault.",
      "A ribbon is one request of a warp. A load moves down, a store moves up.",
      "An arc in SRAM is a step of a reduction, an arc over registers a shuffle.",
      "A sector is 32 bytes of HBM, the least that is moved. A warp that reads 128 bytes side by side needs 4.",
      "A wavefront is one turn of the 32 banks of SRAM. Lanes that want different words of one bank need a turn each: a conflict.",
      "Kernels side by side stand where they have moved equal bytes of HBM.",
    ],
  },
  keys: {
    play: "play and pause",
    step: "step back and forward",
    tile: "by a tile",
    pass: "by a pass",
    ends: "to the first access, to the end",
    warp: "steps of one warp, of all",
    lane: "values of another lane",
    speed: "slower, faster",
    zoom: "more, less, all of the timeline",
    line: "next execution of the cursor's line",
    finding: "next finding",
    compare: "one kernel, or beside others",
    focus: "choose a kernel",
    editor: "into the editor",
    tables: "tables",
    run: "run",
    leave: "out of the editor",
    goTo: "to a step by its number",
    help: "this list",
  },
};

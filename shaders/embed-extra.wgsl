// y[row] = extra[id of the row - first] + the row of its position in the text, for ids from `first` on; others are left as they are.
const WORKGROUP = 64u;

struct Args {
  tokens: u32,    // tokens of an item
  ids_stride: u32, // from one item's ids to the next's
  rows: u32,
  quads: u32,
  first: u32,     // id of the first row of `extra`
  first_row: u32, // rows before this dispatch
}

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> extra: array<vec4f>;
@group(0) @binding(2) var<storage, read> positions: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.rows * args.quads; i += workgroups.x * WORKGROUP) {
    let row = args.first_row + i / args.quads;
    let quad = i % args.quads;
    let at = row % args.tokens;
    let token = ids[row / args.tokens * args.ids_stride + at];
    if (token >= args.first) {
      y[i] = extra[(token - args.first) * args.quads + quad] + positions[at * args.quads + quad];
    }
  }
}

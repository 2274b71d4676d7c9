// x[item, row] += table[row], in place.
const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of columns per row
  all_quads: u32, // quads of the rows
  x_row: u32,     // rows that are bound before these
  table_row: u32,
  item_rows: u32,
}

@group(0) @binding(0) var<storage, read> table: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let row = args.table_row + i / args.quads % args.item_rows;
    x[args.x_row * args.quads + i] += table[row * args.quads + i % args.quads];
  }
}

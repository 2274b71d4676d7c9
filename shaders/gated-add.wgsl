// y += gate · x, the gate a row for each item of the batch.
#import "lib/inside.wgsl"

const WORKGROUP = 64u;

struct Args {
  quads: u32,      // quads of columns per row
  columns: u32,
  all_quads: u32,  // quads of the strip's rows
  first_row: u32,  // rows before the strip
  item_rows: u32,  // rows that share a row of the gate
  gate_quads: u32, // quads from one row of the gate to the next
  gate_first: u32, // first quad of the gate's columns
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> gate: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let item = (args.first_row + i / args.quads) / args.item_rows;
    let quad = i % args.quads;
    y[i] += inside(gate[item * args.gate_quads + args.gate_first + quad] * x[i], quad);
  }
}

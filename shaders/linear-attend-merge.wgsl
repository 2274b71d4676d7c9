// Sums the states of an item's chunks in their order.
const WORKGROUP = 64u;

struct Args {
  item_quads: u32, // quads of the state of an item
  chunks: u32,
  all_quads: u32,  // quads of the states of all items
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += workgroups.x * WORKGROUP) {
    let item = i / args.item_quads;
    var sum = vec4f(0.0);
    for (var chunk = 0u; chunk < args.chunks; chunk++) {
      sum += x[(item * args.chunks + chunk) * args.item_quads + i % args.item_quads];
    }
    y[i] = sum;
  }
}

// y[item][group] = mean of the group's rows of x. A workgroup per quad of columns, group and item; LANES lanes divide the rows.
const LANES = 64u;

struct Args {
  group_rows: u32, // rows of a group; the last group of an item may have fewer
  item_rows: u32,  // rows from one item to the next
  averaged: u32,   // rows of an item that belong to groups
  x_row: u32,      // row of the binding of x at which the first group begins
  x_quads: u32,    // quads from one row of x to the next
  x_first: u32,    // first quad of what is averaged
  groups: u32,     // of an item
  y_row: u32,
  y_quads: u32,
  columns: u32,    // quads of a row that are averaged; zeros follow
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

var<workgroup> sums: array<vec4f, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let quad = workgroup.x;
  let group = workgroup.y;
  let item = workgroup.z;
  let first = group * args.group_rows;
  let rows = min(args.group_rows, args.averaged - first);
  let x0 = (args.x_row + item * args.item_rows + first) * args.x_quads + args.x_first + min(quad, args.columns - 1u);
  var sum = vec4f(0.0);
  for (var row = local; row < rows; row += LANES) {
    sum += x[x0 + row * args.x_quads];
  }
  sums[local] = sum;
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      sums[local] += sums[local + half];
    }
  }
  if (local == 0u) {
    let mean = sums[0] / f32(rows);
    y[(args.y_row + item * args.groups + group) * args.y_quads + quad] = select(vec4f(0.0), mean, quad < args.columns);
  }
}

// Outputs of the selective scan in chunks: y(i) = skip · x(i) + decay(i) · SᵀC(i) + Σ M(i, j) · x(j) over the rows j ≤ i of the chunk, with
// the state S before it and M(i, j) = C(i)·B(j) · step(j) · (decay from j to i): products of matrices. A workgroup has the rows of a chunk
// and 64 columns of a head.
#import "lib/batch.wgsl"
#import "lib/selective-scan-chunks.wgsl"
#import "lib/selective-scan-places.wgsl"
#import "lib/tile-32x64.wgsl"

const FILLS_REGISTERS = true;

struct Args {
  heads: u32,
  groups: u32,      // groups of heads that share B and C
  value_quads: u32, // quads of a head's columns
  state_quads: u32, // quads of B and of C of one group
  x_quads: u32,     // quads from one row of x to the next
  y_quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>; // columns of all heads, B of all groups, C of all
@group(0) @binding(1) var<storage, read> terms: array<vec4f>; // [places][heads][CHUNK_ROWS]; see selective-scan-terms.wgsl
@group(0) @binding(2) var<storage, read> before: array<vec4f>; // [places][heads][state dims][value quads]: states before chunks
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> products: array<vec4f>; // [places][groups][CHUNK_ROWS of B][CHUNK_ROWS of C]
@group(0) @binding(7) var<storage, read> skips: array<f32>; // [heads]: factors of x in the output
@group(0) @binding(8) var<storage, read_write> y: array<vec4f>;

var<workgroup> own_terms: array<vec4f, CHUNK_ROWS>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = workgroup.y;
  let place = workgroup.z;
  let first = chunk_at(place);
  if (first == NO_CHUNK) {
    return;
  }
  let column_tile = workgroup.x * RIGHT;
  let group = head / (args.heads / args.groups);
  let c_first = args.heads * args.value_quads + (args.groups + group) * args.state_quads;
  let of_place = place * args.heads + head;
  if (local < CHUNK_ROWS) {
    own_terms[local] = terms[of_place * CHUNK_ROWS + local];
  }
  workgroupBarrier();

  var sums = mat4x4f();
  for (var base = 0u; base < args.state_quads; base += LEFT) {
    if (local < LEFT * CHUNK_ROWS / 4u) {
      load_rows_of_c(first, c_first, base, local);
    }
    for (var at = local; at < TERMS * RIGHT; at += LANES) {
      right[at] = vec4f(0.0);
      let dim = 4u * base + at / RIGHT;
      let column = column_tile + at % RIGHT;
      if (column < args.value_quads && dim < 4u * args.state_quads) {
        right[at] = before[(of_place * args.state_quads * 4u + dim) * args.value_quads + column];
      }
    }
    workgroupBarrier();
    sums = add_products(sums, local, loop_start(workgroup.y));
    workgroupBarrier();
  }

  for (var at = local; at < CHUNK_ROWS * LEFT; at += LANES) {
    let j = at / LEFT;
    left[at] = decays(j, 4u * (at % LEFT)) * products[((place * args.groups + group) * CHUNK_ROWS + j) * LEFT + at % LEFT];
  }
  for (var at = local; at < CHUNK_ROWS * RIGHT; at += LANES) {
    right[at] = vec4f(0.0);
    let column = column_tile + at % RIGHT;
    if (column < args.value_quads) {
      right[at] = x[(first + at / RIGHT) * args.x_quads + head * args.value_quads + column];
    }
  }
  workgroupBarrier();
  sums = add_products(sums, local, loop_start(workgroup.y));

  let nth = column_tile + local % RIGHT;
  let column = head * args.value_quads + nth;
  if (nth < args.value_quads || (head + 1u == args.heads && column < args.y_quads)) {
    for (var r = loop_start(workgroup.y); r < 4u; r++) {
      let row = 4u * (local / RIGHT) + r;
      y[(first + row) * args.y_quads + column] = sums[r] + skips[head] * right[row * RIGHT + local % RIGHT];
    }
  }
}

// Four rows of C and four state dims from quad `base` on, times the decays of the rows.
fn load_rows_of_c(first: u32, c_first: u32, base: u32, local: u32) {
  let quad = local % LEFT;
  let rows_at = local / LEFT;
  var block = mat4x4f();
  if (base + quad < args.state_quads) {
    for (var r = 0u; r < 4u; r++) {
      let row = 4u * rows_at + r;
      block[r] = own_terms[row].z * x[(first + row) * args.x_quads + c_first + base + quad];
    }
  }
  let turned = transpose(block);
  for (var d = 0u; d < 4u; d++) {
    left[(4u * quad + d) * LEFT + rows_at] = turned[d];
  }
}

// The step of row j times the decays from it to rows i to i + 3; 0 for rows before it.
fn decays(j: u32, i: u32) -> vec4f {
  var sum = 0.0;
  for (var k = j + 1u; k < i; k++) {
    sum += own_terms[k].x;
  }
  var all = vec4f(0.0);
  for (var r = 0u; r < 4u; r++) {
    if (i + r > j) {
      sum += own_terms[i + r].x;
    }
    if (i + r >= j) {
      all[r] = own_terms[j].y * exp(sum);
    }
  }
  return all;
}

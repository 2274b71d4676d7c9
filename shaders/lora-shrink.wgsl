// Product of a row with its LoRA's A, scaled: a workgroup per row and four ranks of a part, eight lanes each. Partial sums are
// added in order on every GPU.
#import "lib/lora.wgsl"

const WORKGROUP = 32u;

struct Args {
  quads: u32,     // quads of a row of x
  y_quads: u32,
  first_row: u32, // rows before this strip
}

@group(0) @binding(4) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> loras: array<u32>; // LoRA of each row
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [row][part][rank]

var<workgroup> partial: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  let lora = loras[args.first_row + row];
  let all = head();
  if (lora >= all.loras) {
    return;
  }
  let part = workgroup.x / all.rank_quads;
  let quad = workgroup.x % all.rank_quads;
  let index = lora * all.parts + part;
  let share = part_at(index);
  if (quad >= share.quads) {
    return;
  }
  let rank = 4u * quad + local / 8u;
  let a = share.a + min(rank, share.rank - 1u) * args.quads;
  var sum = 0.0;
  for (var i = local % 8u; i < args.quads; i += 8u) {
    sum += dot(x[row * args.quads + i], factors[a + i]);
  }
  partial[local] = sum;
  workgroupBarrier();
  if (local % 8u == 0u) {
    for (var i = 1u; i < 8u; i++) {
      sum += partial[local + i];
    }
    let scale = factors[2u + all.loras * all.parts + index / 4u][index % 4u];
    let at = row * args.y_quads + part * all.rank_quads + quad;
    y[4u * at + local / 8u] = select(0.0, sum * scale, rank < share.rank);
  }
}

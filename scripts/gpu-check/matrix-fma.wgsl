// The limit of subgroup matrices: two left and two right matrices stay in registers, and their four products are summed twice each turn.
#import "matrix-elements.$ELEMENTS.wgsl"
enable chromium_experimental_subgroup_matrix;
enable subgroups;

struct Args {
  turns: u32,
}

const WORKGROUP = 64u;
const ROWS = 16;
const COLUMNS = 16;
const DEPTH = 16;
alias C = f16;
alias R = f32;
alias Left = subgroup_matrix_left<C, DEPTH, ROWS>;
alias Right = subgroup_matrix_right<C, COLUMNS, DEPTH>;
alias Sum = subgroup_matrix_result<R, COLUMNS, ROWS>;

@group(0) @binding(0) var<storage, read> source: array<E>;
@group(0) @binding(1) var<storage, read_write> sink: array<R>;
@group(0) @binding(2) var<storage, read_write> sizes: array<u32>;
@group(0) @binding(3) var<uniform> args: Args;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(subgroup_size) size: u32) {
  let l0 = subgroupMatrixLoad<Left>(&source, 0u, false, u32(DEPTH));
  let l1 = subgroupMatrixLoad<Left>(&source, 0u, true, u32(ROWS));
  let r0 = subgroupMatrixLoad<Right>(&source, 0u, false, u32(COLUMNS));
  let r1 = subgroupMatrixLoad<Right>(&source, 0u, true, u32(DEPTH));
  var a = Sum();
  var b = Sum();
  var c = Sum();
  var d = Sum();
  for (var i = 0u; i < args.turns; i++) {
    for (var j = 0u; j < 2u; j++) {
      a = subgroupMatrixMultiplyAccumulate(l0, r0, a);
      b = subgroupMatrixMultiplyAccumulate(l0, r1, b);
      c = subgroupMatrixMultiplyAccumulate(l1, r0, c);
      d = subgroupMatrixMultiplyAccumulate(l1, r1, d);
    }
  }
  // The sum of four is not offered for matrices, so each is stored in turn.
  subgroupMatrixStore(&sink, 0u, a, false, u32(COLUMNS));
  subgroupMatrixStore(&sink, 0u, b, false, u32(COLUMNS));
  subgroupMatrixStore(&sink, 0u, c, false, u32(COLUMNS));
  subgroupMatrixStore(&sink, 0u, d, false, u32(COLUMNS));
  sizes[0] = size;
}

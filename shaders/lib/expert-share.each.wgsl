// The outputs of a row's experts are multiplied by their shares.
@group(0) @binding(1) var<storage, read> shares: array<f32>;

fn share_of(row: u32, j: u32) -> f32 {
  return shares[row * args.stride + j];
}

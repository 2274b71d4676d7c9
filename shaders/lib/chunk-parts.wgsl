// Results of chunks: [chunks, rows, heads, 1 + value_dims / 4], the softmax state followed by the weighted values.
fn part_at(chunk: u32, row: u32, head: u32) -> u32 {
  return ((chunk * args.rows + row) * args.heads + head) * (1u + args.value_dims / 4u);
}

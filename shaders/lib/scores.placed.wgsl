// Scores have a term for the row and one for the column of a grid in which the key lies, other ones for each query and head.
const BIASED = true;
const LOG2E = 1.4426950408889634;

@group(0) @binding(7) var<storage, read> biases: array<f32>; // [item, query][head][rows, columns]

fn bias_of(item: u32, head: u32, query: u32, key: u32) -> f32 {
  let row = args.bias_row + item * args.queries + query;
  let first = row * args.bias_stride + head * (args.grid_rows + args.grid_columns);
  let place = args.first_key + key;
  let down = biases[first + place / args.grid_columns];
  return LOG2E * (down + biases[first + args.grid_rows + place % args.grid_columns]);
}

// Finds the chunk of a place among the rows of a step.
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read> rows: array<Row>;

const NO_CHUNK = 0xffffffffu;

// First row of the chunk that begins at a place, one of rows place · CHUNK_ROWS to place · CHUNK_ROWS + CHUNK_ROWS - 1.
fn chunk_at(place: u32) -> u32 {
  let end = (place + 1u) * CHUNK_ROWS;
  var row = place * CHUNK_ROWS;
  while (row < end) {
    let sequence = sequences[rows[row].sequence];
    let begun = (row - sequence.first_row + CHUNK_ROWS - 1u) / CHUNK_ROWS * CHUNK_ROWS;
    if (begun < rows_in_chunks(sequence) && sequence.first_row + begun < end) {
      return sequence.first_row + begun;
    }
    row = sequence.first_row + sequence.rows;
  }
  return NO_CHUNK;
}

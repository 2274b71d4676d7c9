// Chunks of the selective scan: CHUNK_ROWS consecutive rows of a sequence that one step computes, cut at multiples of CHUNK_ROWS of its
// positions. Rows outside of chunks are left to the scan row by row. A place is CHUNK_ROWS rows of the step: at most one chunk begins there.
const CHUNK_ROWS = 32u; // PAGE_TOKENS: steps of a prompt are cut between pages

// Rows of a sequence, from its first one in the step, that belong to chunks.
fn rows_in_chunks(sequence: Sequence) -> u32 {
  return select(0u, sequence.rows / CHUNK_ROWS * CHUNK_ROWS, sequence.cached % CHUNK_ROWS == 0u);
}

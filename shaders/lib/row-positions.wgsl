// Rows of the step, for heads that depend on their positions.
#import "lib/batch.wgsl"

@group(0) @binding(9) var<storage, read> rows: array<Row>;

// Points of the lattice that codes of GGUF's IQ1, IQ2 and IQ3 number, in the words of kernels/grids.ts: see lib/grid.eights.wgsl and lib/grid.fours.wgsl.
@group(0) @binding(15) var<storage, read> grid: array<u32>;

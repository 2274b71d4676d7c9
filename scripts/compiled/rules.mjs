// Rules for the pipelines of a card.

/** Fewest groups of lanes that fit a SIMD at once, as RADV counts them, on RDNA 3: kernels whose tiles of sums fill the registers, and all others. */
const LEAST = {
  'gemm.wgsl': 8,
  'gemm-int8.wgsl': 10,
  'gemm-matrix.wgsl': 6, // iq2_xs and iq2_s; all others have 7 or more
  'conv2d-matrix.wgsl': 7,
  'conv2d-shared.wgsl': 8,
  'attention-prompt.wgsl': 6,
  'attend-shared.wgsl': 8,
  // Heads of 128 and 256, whose queries, keys and weights take 45 KiB of workgroup memory.
  'attend-matrix.wgsl': 3,
  'attention-prompt-matrix.wgsl': 3,
  'selective-scan.wgsl': 14, // states of 32 values a lane, and sums of four rows in workgroup memory
  // Tiles whose inputs take 10 to 13 KiB of workgroup memory.
  'selective-scan-terms.wgsl': 14,
  'selective-scan-states.wgsl': 12,
  'selective-scan-outputs.wgsl': 10,
  'matvec-int8.wgsl': 8,
  'matvec.wgsl': 6, // q6_k in eight rows; all others have 8 or more
};
const LEAST_OF_OTHERS = 16;

/** @returns {string[]} a sentence for each pipeline that breaks a rule */
export function problemsOf({ gpu, pipelines }) {
  return pipelines.flatMap((one) => {
    const { shader, params, of, spilled, spilledScalars, scratch, occupancy } = one;
    const about = `${shader} ${JSON.stringify(params)} (${of}) on ${gpu}`;
    const least = gpu === 'navi31' ? (LEAST[shader] ?? LEAST_OF_OTHERS) : 0;
    return [
      ...(spilled + spilledScalars > 0 ? [`${about} spills ${spilled + spilledScalars} registers`] : []),
      ...(scratch > 0 ? [`${about} keeps ${scratch} bytes a group in memory`] : []),
      ...(occupancy < least ? [`${about}: ${occupancy} groups fit a SIMD, fewer than ${least}`] : []),
    ];
  });
}

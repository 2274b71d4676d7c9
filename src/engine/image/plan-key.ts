// What the memory of a request depends on, as a key of the plans that are kept.

import type { Resolved } from './stages/resolved.ts';

/** Requests of equal keys take about the same memory; `lengths`: those of the prompts. */
export function planKey(
  { event: { values }, request, call, batch, loras = [] }: Resolved,
  lengths: number[],
): string {
  const { image, furtherImages = [], mask, previews = 0, tiling = false, enableTeacache } = request;
  // Images that a denoiser sees keep sizes of their own.
  const seen = values.strength === null ? [...furtherImages, ...(image ? [image] : [])] : furtherImages;
  const sizes = seen.map(({ width, height }) => [width, height]);
  const { controlImages = [], ipAdapterScale, controlScale, controlStart, controlEnd } = request;
  const control = [ipAdapterScale === 0, controlImages.length, controlScale, controlStart, controlEnd];
  const { negativePrompt: _, samples, guidance, ...others } = values;
  const hasImages = [image, request.lastImage, mask].map((one) => one !== undefined);
  const given = [...hasImages, previews > 0, tiling, samples, batch, guidance, enableTeacache];
  // Factors of LoRAs may stand beside weights.
  const applied = loras.filter(({ scale }) => scale !== 0).map(({ lora }) => lora.name);
  return JSON.stringify([others, lengths, given, sizes, control, applied, call]);
}

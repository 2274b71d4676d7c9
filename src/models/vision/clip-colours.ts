// Means and standard deviations of the red, green and blue of the images that CLIP was trained with. Processors of many models take them.

export const CLIP_MEANS: readonly number[] = [0.48145466, 0.4578275, 0.40821073];
export const CLIP_SPREADS: readonly number[] = [0.26862954, 0.26130258, 0.27577711];

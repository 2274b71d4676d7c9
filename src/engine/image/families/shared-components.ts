// Declarations of components that several families share: autoencoders, CLIP text encoders, noise schedules.

import type { ComponentClasses } from '../../../files/pipeline/pipeline-classes.ts';

export const AUTOENCODER: ComponentClasses = {
  kind: 'model',
  library: 'diffusers',
  classes: ['AutoencoderKL', 'AutoencoderTiny'],
};

export const SCHEDULER: ComponentClasses = { kind: 'scheduler', library: 'diffusers', classes: null };

/** Declares a text encoder, which is a class of transformers. */
export const textEncoder = (...classes: string[]): ComponentClasses => ({
  kind: 'model',
  library: 'transformers',
  classes,
});

export const tokenizer = (...classes: string[]): ComponentClasses => ({
  kind: 'tokenizer',
  library: 'transformers',
  classes,
});

/** Declares a denoiser, which is a class of diffusers. */
export const denoiser = (...classes: string[]): ComponentClasses => ({
  kind: 'model',
  library: 'diffusers',
  classes,
});

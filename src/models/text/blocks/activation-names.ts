// The activations of language and embedding models by the names that transformers has for them.

import type { Activation } from '../../../kernels/activation.ts';

export const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  silu: 'silu',
  swish: 'silu',
  gelu: 'gelu',
  gelu_new: 'gelu-tanh',
  gelu_fast: 'gelu-tanh',
  gelu_pytorch_tanh: 'gelu-tanh',
  quick_gelu: 'quick-gelu',
  relu: 'relu',
  relu2: 'relu-squared',
  tanh: 'tanh',
};

/** All names of one activation. */
export function namesOfActivation(activation: Activation): string[] {
  return Object.keys(ACTIVATIONS).filter((name) => ACTIVATIONS[name] === activation);
}

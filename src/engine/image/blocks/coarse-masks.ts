// Denoisers that take a mask and masked latents beside the latents, recognized by the channels of their input.

import { ConfigError } from '../../../models/config-values.ts';

/** Whether a denoiser takes latents, a mask and masked latents instead of latents alone. Throws unsupported for other inputs. */
export function coarseMasks(file: string, inputs: number, channels: number): 'coarse' | false {
  const withMask = 2 * channels + 1;
  if (inputs === channels || inputs === withMask) return inputs === withMask && 'coarse';
  throw new ConfigError(
    'unsupported',
    file,
    `in_channels ${inputs} is not built; choose a checkpoint that has ${channels}, or ${withMask} for inpainting`,
    'in_channels',
  );
}

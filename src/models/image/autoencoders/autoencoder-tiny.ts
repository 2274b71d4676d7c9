// AutoencoderTiny: converts images to latents and back by plain convolutions. A small replacement for the autoencoder that a model
// was trained with, fast enough for previews.

import type { Tensor } from '../../../gpu/tensor.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { scaleShift, softClamp } from '../../../kernels/scale-shift.ts';
import type { AutoencoderTinyConfig } from './autoencoder-tiny-config.ts';
import type { WeightTable } from '../../weights.ts';

/** Range of latents that the decoder was trained on. */
const BOUND = 3;

type Layer = (x: Tensor) => Tensor;

/** Latents [batch, height, width, latentChannels] → images in −1 … 1, [batch, 2ⁿ · height, 2ⁿ · width, outChannels] */
export function autoencoderTinyDecoder(config: AutoencoderTinyConfig, weights: WeightTable): Layer {
  const { latentChannels, outChannels, decoder } = config;
  const { channels, blocks } = decoder;
  const name = sequence('decoder.layers');
  const convIn = weights.conv(`${name()}.weight`, channels, latentChannels, 3);
  name(); // index of the activation, which has no weights
  const stages = blocks.map((count, i): Layer => {
    const isLast = i === blocks.length - 1;
    const residuals = Array.from({ length: count }, () => block(weights, name(), channels));
    if (!isLast) name(); // index of the upsampling, which has no weights
    const conv = weights.conv(`${name()}.weight`, isLast ? outChannels : channels, channels, 3, {
      bias: isLast,
    });
    return (x) =>
      conv2d(
        residuals.reduce((y, run) => run(y), x),
        conv,
        { upsample: !isLast },
      );
  });
  weights.ignore(/^encoder\./);

  return (latents) => {
    const x = conv2d(softClamp(latents, BOUND), convIn, { activation: 'relu' }); // [batch, height, width, channels]
    return scaleShift(
      stages.reduce((y, run) => run(y), x),
      2,
      -1,
    );
  };
}

/** Images in −1 … 1, [batch, height, width, inChannels] → latents [batch, height / 2ⁿ, width / 2ⁿ, latentChannels] */
export function autoencoderTinyEncoder(config: AutoencoderTinyConfig, weights: WeightTable): Layer {
  const { latentChannels, inChannels, encoder } = config;
  const { channels, blocks } = encoder;
  const name = sequence('encoder.layers');
  const stages = blocks.map((count, i): Layer => {
    const stride = i === 0 ? 1 : 2;
    const conv = weights.conv(`${name()}.weight`, channels, i === 0 ? inChannels : channels, 3, {
      bias: i === 0,
      stride,
    });
    const residuals = Array.from({ length: count }, () => block(weights, name(), channels));
    return (x) => residuals.reduce((y, run) => run(y), conv2d(x, conv, { stride }));
  });
  const convOut = weights.conv(`${name()}.weight`, latentChannels, channels, 3);
  weights.ignore(/^decoder\./);

  return (image) =>
    conv2d(
      stages.reduce((y, run) => run(y), scaleShift(image, 0.5, 0.5)),
      convOut,
    );
}

/** relu(x + three convolutions of x) */
function block(weights: WeightTable, name: string, channels: number): Layer {
  const [first, second, third] = [0, 2, 4].map((i) =>
    weights.conv(`${name}.conv.${i}.weight`, channels, channels, 3),
  );
  return (x) => {
    const y = conv2d(conv2d(x, first!, { activation: 'relu' }), second!, { activation: 'relu' });
    return conv2d(y, third!, { residual: x, activation: 'relu' });
  };
}

/** Returns a function that gives the names of a sequence's members in order. */
function sequence(name: string): () => string {
  let i = 0;
  return () => `${name}.${i++}`;
}

// Files of IP-Adapters for Stable Diffusion, which have one layout. source: diffusers' loaders/unet.py

import { badCheckpoint, type EngineError, unsupported } from '../../../../files/error.ts';
import type { FileHeaders, PartConfig, PartLayout } from '../../../../files/pipeline/file-layout.ts';
import { RESAMPLER_HEAD } from '../../../../models/image/unet/ip-adapter-config.ts';
import { Shapes } from '../../layouts/shapes.ts';

export const IP_ADAPTER: PartLayout = {
  prefixes: [''],
  signs: ['ip_adapter.1.to_k_ip.weight', 'ip_adapter.1.to_v_ip.weight'],
  names(headers) {
    refuseOthers(headers);
    return (name) => (name === LATENTS ? [{ name, isSingle: true }] : name);
  },
  configure: ipAdapterConfig,
};

const ROOT = 'image_proj';
/** Learned queries, [1, tokens, width]. */
const LATENTS = `${ROOT}.latents`;

/** Signs of adapters that are not built in. */
const OTHERS: readonly (readonly [sign: RegExp, holds: string])[] = [
  [
    /^image_proj\.perceiver_resampler\./,
    'an IP-Adapter of faces (FaceID Plus), which reads the embedding of a face',
  ],
  [/^image_proj\.norm\.weight$/, 'an IP-Adapter of faces (FaceID), which reads the embedding of a face'],
  [
    /^ip_adapter\.\d+\.to_(q|k|v|out)_lora\./,
    'an IP-Adapter of faces (FaceID), which reads the embedding of a face',
  ],
  [
    /^image_proj\.proj\.3\./,
    'an IP-Adapter of whole faces (full-face), which reads all states of an image one by one',
  ],
];

function refuseOthers(headers: FileHeaders): void {
  // The adapters that are built in project by one matrix, or gather by learned queries.
  const isPlain = headers.has(`${ROOT}.proj.weight`) && headers.has(`${ROOT}.norm.weight`);
  const names = [...headers.keys()];
  const other = OTHERS.find(([sign], i) => !(isPlain && i === 1) && names.some((name) => sign.test(name)));
  if (other === undefined) return;
  throw unsupported(
    `the file holds ${other[1]}, and is not built in: give an ordinary IP-Adapter or an IP-Adapter Plus`,
    'ipAdapterPath',
  );
}

function ipAdapterConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'IP-Adapter');
  const context = shapes.extent('ip_adapter.1.to_k_ip.weight', 1);
  const className = 'IPAdapter';
  if (!headers.has(LATENTS)) {
    const columns = shapes.extent(`${ROOT}.proj.weight`, 0);
    if (columns % context !== 0) throw uneven(columns, context);
    const config = {
      image_columns: shapes.extent(`${ROOT}.proj.weight`, 1),
      cross_attention_dim: context,
      image_tokens: columns / context,
    };
    return { className, config };
  }
  const inner = shapes.extent(`${ROOT}.layers.0.0.to_q.weight`, 0);
  if (inner % RESAMPLER_HEAD !== 0) throw uneven(inner, RESAMPLER_HEAD);
  const config = {
    image_columns: shapes.extent(`${ROOT}.proj_in.weight`, 1),
    cross_attention_dim: context,
    image_tokens: shapes.extent(LATENTS, 0),
    resampler_width: shapes.extent(LATENTS, 1),
    resampler_heads: inner / RESAMPLER_HEAD,
    resampler_layers: shapes.count((i) => `${ROOT}.layers.${i}.0.to_q.weight`),
    resampler_ffn: shapes.extent(`${ROOT}.layers.0.1.1.weight`, 0),
  };
  return { className, config };
}

function uneven(columns: number, parts: number): EngineError {
  return badCheckpoint(
    `the IP-Adapter projects to ${columns} columns, which are not a multiple of ${parts}: take the file from where it was published`,
    'ipAdapterPath',
  );
}

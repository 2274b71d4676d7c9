// Converts the configuration of DeepSeek-OCR to what its tower and its processor need. Only this file knows the key names. Sizes that the published
// configuration leaves out are those of SAM ViT-B and CLIP ViT-L.

import { checkHeads, readConfig, type ConfigReader } from '../../config-values.ts';
import type { MediaFiles } from '../../media.ts';
import { HALVES, type PixelValues, readPixelValues } from '../pixel-values.ts';
import type { TileBounds } from '../tile-grid.ts';
import type { ClipConfig } from '../../text/clip/clip-config.ts';
import type { SamConfig } from './sam.ts';

export type ClipPart = Pick<ClipConfig, 'hidden' | 'heads' | 'layers' | 'ffn' | 'eps'> & {
  activation: 'quick-gelu';
  /** Positions along a side of the learned table. */
  places: number;
};

export interface DeepseekOcrConfig {
  sam: SamConfig;
  clip: ClipPart;
  /** Pixels along a side of the whole image, and of a tile. */
  whole: number;
  tile: number;
  bounds: TileBounds;
  values: PixelValues;
  /** Columns of the result. */
  out: number;
}

/** Pixels along a side of SAM's patches, and patches along a side of its windows. */
export const SAM_PATCH = 16;
export const SAM_WINDOW = 14;
/** Sides of images that the towers were trained with. */
const SIDES = { sam: 1024, clip: 224 };

/** Errors: bad_checkpoint, unsupported. */
export function readDeepseekOcr({ config: json, processors, hidden }: MediaFiles): DeepseekOcrConfig {
  const config = readConfig('config.json', json);
  config.only({ tile_tag: ['2D'], global_view_pos: ['head'] });
  const vision = config.part('vision_config');
  vision.only({ model_name: ['deeplip_b_l'] });
  config.part('projector_config').only({ projector_type: ['linear'] });
  const widths = vision.part('width');
  const sam = readSam(widths.part('sam_vit_b'), vision.count('image_size', SIDES.sam));
  const clip = readClip(widths.part('clip-l-14-224'));
  if (sam.halved[1] !== clip.hidden)
    throw config.error(
      'bad_checkpoint',
      'vision_config',
      `has ${sam.halved[1]} channels before CLIP, which has ${clip.hidden}: take the values that the model was published with`,
    );
  const file = 'processor_config.json';
  const stated = processors[file] ?? processors['preprocessor_config.json'] ?? {};
  const processor = readConfig(file, { ...json, ...stated });
  processor.only({ normalize: [true], patch_size: [SAM_PATCH], downsample_ratio: [4] });
  return {
    sam,
    clip,
    whole: inPatches(processor, 'candidate_resolutions', wholeSide(processor)),
    tile: inPatches(processor, 'tile_size', processor.count('tile_size', 640)),
    bounds: { min: processor.count('min_patches', 2), max: processor.count('max_patches', 9) },
    values: readPixelValues(processor, HALVES),
    out: hidden,
  };
}

function readSam(config: ConfigReader, side: number): SamConfig {
  const hidden = config.count('width', 768);
  const halved = config.list('downsample_channels', [512, 1024]);
  if (halved.length !== 2)
    throw config.error('unsupported', 'downsample_channels', 'are those of other than two convolutions');
  return {
    hidden,
    heads: checkHeads('sam_vit_b', hidden, config.count('heads', 12)),
    layers: config.count('layers', 12),
    ffn: 4 * hidden,
    wholeLayers: config.list('global_attn_indexes', [2, 5, 8, 11]),
    window: SAM_WINDOW,
    patch: SAM_PATCH,
    places: Math.floor(side / SAM_PATCH),
    neck: 256,
    halved: [halved[0]!, halved[1]!],
  };
}

function readClip(config: ConfigReader): ClipPart {
  const hidden = config.count('width', 1024);
  return {
    hidden,
    heads: checkHeads('clip-l-14-224', hidden, config.count('heads', 16)),
    layers: config.count('layers', 24),
    ffn: 4 * hidden,
    eps: 1e-5,
    activation: 'quick-gelu',
    places: Math.floor(config.count('image_size', SIDES.clip) / config.count('patch_size', 14)),
  };
}

/** The side of a square of whole patches. */
function inPatches(processor: ConfigReader, key: string, side: number): number {
  if (side % SAM_PATCH === 0) return side;
  const problem = `has sides of ${side} pixels; choose a model whose squares have a multiple of ${SAM_PATCH}`;
  throw processor.error('unsupported', key, problem);
}

/** Side of the square into which whole images are drawn. */
function wholeSide(processor: ConfigReader): number {
  const stated = processor.values['candidate_resolutions'];
  const first: unknown = Array.isArray(stated) ? stated[0] : undefined;
  const [width, height] = processor.with({ width: first }).each('width', 2, 1024) as [number, number];
  if (width === height && (!Array.isArray(stated) || stated.length === 1)) return width;
  throw processor.error('unsupported', 'candidate_resolutions', 'are other than one square');
}

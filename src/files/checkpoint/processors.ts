// Configurations of the processors of images, videos and sounds that stand in files of their own beside config.json, or of Mistral's
// in tekken.json.

import { isRecord, readJson, type Folder } from '../source.ts';
import { TEKKEN } from '../tokenizer/tekken.ts';

const [PREPROCESSOR, PROCESSOR] = ['preprocessor_config.json', 'processor_config.json'] as const;
const FILES = [PREPROCESSOR, 'video_preprocessor_config.json', PROCESSOR];

type Processors = Record<string, Record<string, unknown>>;

/** Contents of the files that the folder has, by name; where it has none, what its tekken.json says in their words. */
export async function readProcessors(folder: Folder, names: readonly string[]): Promise<Processors> {
  const found = FILES.filter((name) => names.includes(name));
  // A large file, which is not looked at where others say all.
  const isRead = names.includes(TEKKEN) && (found.length === 0 || !names.includes('tokenizer.json'));
  const tekken = isRead ? await readJson(folder, TEKKEN) : {};
  const stream = streamProcessor(tekken);
  if (found.length === 0) return { ...tekkenProcessors(tekken), ...stream };
  const read = await Promise.all(found.map(async (name) => [name, await readJson(folder, name)] as const));
  return { ...Object.fromEntries(read), ...stream };
}

/** Older files call the part about images `multimodal`. */
function tekkenProcessors({ image, multimodal, audio }: Record<string, unknown>): Processors {
  const seen = isRecord(image) ? image : multimodal;
  return { ...(isRecord(seen) && imageProcessor(seen)), ...(isRecord(audio) && soundProcessor(audio)) };
}

function imageProcessor(image: Record<string, unknown>): Processors {
  return {
    [PREPROCESSOR]: { size: { longest_edge: image['max_image_size'] } },
    [PROCESSOR]: {
      patch_size: image['image_patch_size'],
      spatial_merge_size: image['spatial_merge_size'] ?? 1,
    },
  };
}

/** What tekken.json alone says of models that write while they hear. */
function streamProcessor({ audio }: Record<string, unknown>): Processors {
  if (!isRecord(audio) || audio['transcription_format'] !== 'streaming') return {};
  const { transcription_delay_ms, streaming_n_left_pad_tokens, frame_rate } = audio;
  return { [TEKKEN]: { transcription_delay_ms, streaming_n_left_pad_tokens, frame_rate } };
}

function soundProcessor(audio: Record<string, unknown>): Processors {
  const { audio_encoding_config: stated, sampling_rate, chunk_length_s: chunk_length } = audio;
  const spectrum = isRecord(stated) ? stated : {};
  const { num_mel_bins: feature_size, hop_length, window_size: n_fft } = spectrum;
  return { [PREPROCESSOR]: { feature_size, hop_length, n_fft, sampling_rate, chunk_length } };
}

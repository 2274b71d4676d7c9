// The parts of a message's content: text, and the media that a client names. Every error names the path of the wrong member.

import { z } from 'zod';
import { filled, silent } from '../body/bounded.ts';
import { type ContentPart, LIMITS, type MediaKind } from '../../index.ts';
import { withoutMissing } from '../body/fields.ts';
import { typedObject } from '../body/unknown-members.ts';
import { dataUrl } from '../media/read-media.ts';
import { MediaSource } from '../media/media-source.ts';

export const tileCount = z.int().min(1).max(LIMITS.tiles);
const tiles = { max_dynamic_patch: tileCount.nullish(), min_dynamic_patch: tileCount.nullish() };
const detail = z.enum(['auto', 'low', 'high']).nullish();

/** Members of each type of part. An address may stand alone or in an object. */
const MEMBERS = {
  text: z.looseObject({ text: z.string() }),
  image_url: z.looseObject({
    image_url: z.union([filled, z.looseObject({ url: filled, detail, ...tiles })]),
  }),
  video_url: z.looseObject({ video_url: z.union([filled, z.looseObject({ url: filled, ...tiles })]) }),
  audio_url: z.looseObject({ audio_url: z.union([filled, z.looseObject({ url: filled })]) }),
  input_audio: z.looseObject({ input_audio: z.looseObject({ data: filled, format: filled.nullish() }) }),
  file: z.looseObject({ file: z.looseObject({ file_data: filled, filename: silent }) }),
};

type PartType = keyof typeof MEMBERS;
const TYPES = Object.keys(MEMBERS) as PartType[];

export const contentPart = typedObject(MEMBERS, {
  base: z
    .looseObject({ type: z.string(), text: z.string().optional() })
    .meta({ oneOf: TYPES.map(partSchema) }),
});

/** JSON Schema of a type of part, for /openapi.json. */
function partSchema(type: PartType) {
  const { properties, required = [] } = z.toJSONSchema(MEMBERS[type], {
    io: 'input',
    unrepresentable: 'any',
  });
  return {
    type: 'object',
    properties: { type: { const: type }, ...properties },
    required: ['type', ...required],
  };
}

export type BodyPart = z.infer<typeof contentPart>;
type PartOf<T extends PartType> = z.infer<(typeof MEMBERS)[T]>;

interface NamedMedium {
  /** null: the bytes tell it. */
  kind: MediaKind | null;
  url: string;
  /** Path of the address below the part. */
  member: string;
  /** The declared format; left out: none. */
  format?: string | null | undefined;
  minTiles?: number | undefined;
  maxTiles?: number | undefined;
}

const LINKED = { image_url: 'image', video_url: 'video', audio_url: 'audio' } as const;

/** The medium that a part names, which the schema has checked; null: the part is text. */
function namedMedium(part: BodyPart): NamedMedium | null {
  const type = part.type as PartType;
  if (type === 'text') return null;
  if (type === 'input_audio') {
    const { data, format } = (part as unknown as PartOf<typeof type>).input_audio;
    return { kind: 'audio', url: dataUrl(data), member: 'input_audio.data', format };
  }
  if (type === 'file') {
    const { file_data: data } = (part as unknown as PartOf<typeof type>).file;
    return { kind: null, url: data, member: 'file.file_data' };
  }
  const linked = part[type] as PartOf<'image_url'>['image_url'];
  if (typeof linked === 'string') return { kind: LINKED[type], url: linked, member: type };
  return {
    kind: LINKED[type],
    url: linked.url,
    member: `${type}.url`,
    minTiles: linked.min_dynamic_patch ?? undefined,
    maxTiles: linked.max_dynamic_patch ?? undefined,
  };
}

/** Converts a part for the engine; a medium is a MediaSource until `withMedia` has read it. `path`: that of the part in the request. */
export function toContentPart(part: BodyPart, path: string): ContentPart {
  const named = namedMedium(part);
  if (!named) return part as unknown as ContentPart;
  const { kind, url, member, format, minTiles, maxTiles } = named;
  const medium = new MediaSource(kind, url, `${path}.${member}`, format);
  const type = kind ?? 'file';
  return withoutMissing({ type, [type]: medium, minTiles, maxTiles }) as unknown as ContentPart;
}

/** Pairs of a path in the engine's request and the path in the body, for the members of one part. */
export function partPaths(part: BodyPart, path: string): [engine: string, field: string][] {
  const named = namedMedium(part);
  if (!named) return [];
  const { kind, member } = named;
  const own = `${path}.${part.type}`;
  const kinds: readonly MediaKind[] = kind ? [kind] : ['image', 'video', 'audio'];
  return [
    ...kinds.map((one): [string, string] => [`${path}.${one}`, `${path}.${member}`]),
    [`${path}.minTiles`, `${own}.min_dynamic_patch`],
    [`${path}.maxTiles`, `${own}.max_dynamic_patch`],
  ];
}

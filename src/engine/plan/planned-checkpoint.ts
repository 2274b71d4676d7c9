// The checkpoint of a text or embedding model as far as its headers go: class, configuration, and names, shapes and types of its tensors.

import type { KnownClasses } from '../../files/checkpoint/architecture.ts';
import { openCheckpoint, readCheckpointConfig, type Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { splitName } from '../../files/checkpoint/fused-experts.ts';
import { textTensors } from '../../files/checkpoint/text-half.ts';
import type { ByteSource, Folder } from '../../files/source.ts';
import { openChatTemplate, type ChatTemplate } from '../../files/template/template.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { readText } from '../../models/text/registry.ts';
import type { WeightTable } from '../../models/weights.ts';
import { untieStoredHead } from '../opening/tied-head.ts';
import { listedNames, requestedHeaders, statedDtype, withMxfp4 } from './headers.ts';
import type { PlanPlace } from './paper-model.ts';
import { withBitsAndBytes } from './planned-codes.ts';

export interface PlannedCheckpoint extends Pick<
  Checkpoint,
  'path' | 'architecture' | 'configSource' | 'tensors' | 'shards' | 'wrapper' | 'config' | 'generationConfig'
> {
  declaration: TextDeclaration;
  /** Left out: nothing but the names of the towers' tensors is known. */
  beside?: Checkpoint['beside'];
  towerNote?: Checkpoint['towerNote'];
  /** The chat template; left out where nothing but configurations is known. */
  template?: () => Promise<ChatTemplate>;
}

/** The page of a declaration that a kind of model is opened with. */
type PageOf = (declaration: TextDeclaration) => (weights: WeightTable) => unknown;

/** Elements of a stored head that are compared with the embedding's over a network: heads that differ do so at their start. */
const COMPARED = 2 ** 16;

/** Reads the headers of a checkpoint. Throws what opening the model throws about its files and its configuration. */
export async function readPlannedCheckpoint(
  folder: Folder,
  known: KnownClasses,
  place: Pick<PlanPlace, 'isRemote' | 'configsOnly'>,
  pageOf: PageOf,
  onNote: (message: string) => void,
): Promise<PlannedCheckpoint> {
  if (place.configsOnly) return configuredCheckpoint(folder, known, pageOf);
  const checkpoint = await openCheckpoint(folder, known);
  try {
    checkpoint.checkTokenizer();
    const stated = readText(checkpoint.config, checkpoint.architecture, checkpoint.configSource);
    const most = place.isRemote ? COMPARED : Infinity;
    const declaration = await untieStoredHead(stated, checkpoint.tensors, onNote, most);
    return { ...checkpoint, declaration, template: () => plannedTemplate(checkpoint) };
  } finally {
    await checkpoint.close();
  }
}

/** A template is opened without the texts of special tokens, since tokenizers are large; a tokenizer that brings the template itself is read. */
async function plannedTemplate({
  chatTemplate,
  tokenizer,
}: Pick<Checkpoint, 'chatTemplate' | 'tokenizer'>): Promise<ChatTemplate> {
  if (chatTemplate !== null) return openChatTemplate(chatTemplate, NAMELESS);
  const { specials, chat } = await tokenizer();
  return openChatTemplate(null, specials, chat);
}

/** Special tokens that some templates join to other texts. */
const NAMELESS = { bos_token: '', eos_token: '' };

/** A checkpoint whose tensors are those that its page asks for, or those of its index with the page's shapes. */
async function configuredCheckpoint(
  folder: Folder,
  known: KnownClasses,
  pageOf: PageOf,
): Promise<PlannedCheckpoint> {
  const { config, configSource, architecture, wrapper, quantized } = await readCheckpointConfig(
    folder,
    known,
  );
  const declaration = readText(config, architecture, configSource);
  const listed = await listedNames(folder);
  const named = new Map((listed ?? []).map((name) => [name, name]));
  const { tensors, ...left } = wrapper === null ? { tensors: named } : textTensors(named);
  const experts = known.fusedExperts?.(architecture) ? (declaration.experts?.count ?? 0) : 0;
  const names = listed === null ? null : [...tensors.keys()].flatMap((name) => splitName(name, experts));
  const page = pageOf(declaration);
  const requested = requestedHeaders(page, names, statedDtype(config));
  const headers = withBitsAndBytes(page, withMxfp4(page, requested, config), quantized);
  const stored = [...headers].map(
    ([name, header]) => [name, { ...header, source: NOWHERE, offset: 0 }] as const,
  );
  return {
    path: folder.path,
    architecture,
    wrapper: wrapper === null ? null : { architecture: wrapper, left: [], leftTensors: 0, ...left },
    config,
    configSource,
    generationConfig: {},
    tensors: new Map(stored),
    shards: [],
    declaration,
  };
}

/** The file of tensors of which nothing but a header is known. */
export const NOWHERE: ByteSource = {
  name: 'no file',
  size: 0,
  read: () => Promise.reject(new Error('a planned tensor has no bytes')),
  readInto: () => Promise.reject(new Error('a planned tensor has no bytes')),
  close: () => Promise.resolve(),
};

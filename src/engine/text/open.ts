// The files of a text model as it is opened, how its runner is loaded onto a device, and what serves requests on it.

import { openCheckpoint, readCheckpointConfig, refuseTower } from '../../files/checkpoint/checkpoint.ts';
import { checkTokenizerFiles, sourceTokenizerFiles } from '../../files/checkpoint/tokenizer-files.ts';
import { badRequest } from '../../files/error.ts';
import { isGgufName } from '../../files/gguf/file-names.ts';
import type { GivenTower } from '../../files/gguf/tower.ts';
import { option, say } from '../../files/message.ts';
import { closeAll, type Folder } from '../../files/source.ts';
import { checkVocabularySize } from '../../files/tokenizer/token-ids.ts';
import { ggufClasses, readText } from '../../models/text/registry.ts';
import { TEXT_CLASSES } from '../opening/architectures.ts';
import { fetchModel } from '../opening/fetch-model.ts';
import { withPlace } from '../opening/replicas.ts';
import { withFittingChange } from '../plan/fitting-change.ts';
import type { Platform } from '../platform/platform.ts';
import type { DeviceSource, Opening, ReadModel } from '../opening/served.ts';
import { checkRequests } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';
import { checkLoraFolders } from './lora/lora-folders.ts';
import { Loras, noLoras } from './lora/loras.ts';
import { loadOnto, type LoadedText } from './load.ts';
import { readDraftModel } from './open-draft-model.ts';
import { loadOnRanks, unloadRanks } from './open-ranks.ts';
import { paperText } from './plan-text.ts';
import { serve } from './serve.ts';
import { readTextFiles, type TextFiles } from './text-files.ts';
import type { TextModel, TextModelOptions } from './calls/text-model.ts';

/** Reads a text model's files. See ReadFiles. */
export async function openText(
  platform: Platform,
  options: TextModelOptions,
  opening: Opening,
): Promise<ReadModel<TextModel, LoadedText>> {
  await checkLoraFolders(platform, options);
  const tower = await givenTower(platform, options, opening);
  const inspected = (folder: Folder): Promise<void> => inspect(folder, tower);
  const path = await fetchModel(platform, options, opening.onEvent, opening.signal, inspected);
  const checkpoint = await openCheckpoint(await platform.openFolder(path), TEXT_CLASSES, tower);
  opening.defer(() => checkpoint.close());
  const alone = await readTextFiles(checkpoint, options, opening.note);
  opening.defer(() => closeAll((alone.media?.loras ?? []).map(({ file }) => file)));
  for (const name of ['loraPaths', 'loraDir'] as const)
    if (alone.config.source && options[name]) throw noLoras(name);
  const target = {
    declaration: alone.config,
    tensors: checkpoint.tensors,
    tokenizer: alone.speech.tokenizer,
  };
  const { declaration, draft, close } = await readDraftModel(options, target, async (model) =>
    platform.openFolder(await fetchModel(platform, { model }, opening.onEvent, opening.signal)),
  );
  opening.defer(close);
  const files = { ...alone, config: declaration, draft };
  const { architecture, config } = checkpoint;
  const base = { architecture, config, gguf: ggufClasses() };
  const loras = new Loras(platform, options, opening.note, base);
  return {
    ...deviceSource(platform, files, options, loras),
    serve: (device) => serve(platform, files, options, device, loras),
  };
}

/** The tower that the option names. Errors: bad_request, and those of finding and fetching it. */
async function givenTower(
  platform: Platform,
  { mmproj }: Pick<TextModelOptions, 'mmproj'>,
  { onEvent, signal }: Opening,
): Promise<GivenTower | undefined> {
  if (mmproj === undefined) return undefined;
  if (!isGgufName(mmproj))
    throw badRequest(
      say`${option('mmproj')} ${mmproj} names no GGUF file: give the path of one, mmproj-….gguf, or owner/name:FILE`,
      'mmproj',
    );
  const folder = await platform.openFolder(await fetchModel(platform, { model: mmproj }, onEvent, signal));
  const [name = ''] = await folder.names();
  return { folder, name };
}

/** Makes the checks that need no weights. */
async function inspect(folder: Folder, tower: GivenTower | undefined): Promise<void> {
  const names = await folder.names();
  if (names.some(isGgufName)) return inspectGguf(folder, tower);
  if (tower) refuseTower(folder.path);
  const { config, architecture, configSource } = await readCheckpointConfig(folder, TEXT_CLASSES);
  const { source } = readText(config, architecture, configSource);
  checkTokenizerFiles(folder.path, names, source ? await sourceTokenizerFiles(folder, names) : []);
}

/** Makes the checks of a GGUF file, whose header has everything but the weights themselves: its tensors and its tokenizer too. */
async function inspectGguf(folder: Folder, tower: GivenTower | undefined): Promise<void> {
  const checkpoint = await openCheckpoint(folder, TEXT_CLASSES, tower);
  try {
    const declaration = readText(checkpoint.config, checkpoint.architecture, checkpoint.configSource);
    const { tensors, configSource } = checkpoint;
    checkRequests(collect(tensors, declaration.generate!), tensors, configSource);
    checkVocabularySize(await checkpoint.tokenizer(), declaration.vocabulary);
  } finally {
    await checkpoint.close();
  }
}

/** Opens the device of a model and its runner. A model that is loaded again keeps the sizes that its sequences were placed by. */
function deviceSource(
  platform: Platform,
  files: TextFiles,
  options: TextModelOptions,
  loras: Loras,
): DeviceSource<LoadedText> {
  // Kernels run with bounds checks if requests may contain their own WGSL.
  const safe = (options.safe ?? false) || (options.customLogitProcessors ?? false);
  return {
    openDevice(before) {
      const memoryBudget = before?.device.memoryBudget ?? options.memoryBudget;
      return platform.openDevice(withPlace({ ...options, memoryBudget, safe }));
    },
    unload: unloadRanks,
    load(device, before, onEvent) {
      const parts = { kept: before?.runner ?? null, packed: platform.packed, loras };
      const { tpSize = 1 } = options;
      if (tpSize > 1)
        return loadOnRanks(device, platform, files, { ...options, safe, tpSize }, parts, onEvent);
      return loadOnto(device, files, options, parts, onEvent).catch(async (error: unknown) => {
        // How much LoRAs take is not planned.
        if (options.loraPaths?.length) throw error;
        const { checkpoint, media, draft } = files;
        const sizes = { memoryBudget: device.memoryBudget, memory: platform.memory };
        throw await withFittingChange(error, sizes, options.quantization ?? 'none', () =>
          paperText(device, { ...checkpoint, media, draft }, files.config, options),
        );
      });
    },
  };
}

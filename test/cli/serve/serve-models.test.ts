// The models that one server serves, and that the others continue when one ends.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  checkJudge,
  checkModelOptions,
  keepModels,
  openedKind,
  type Openers,
} from '../../../src/cli/serve/serve-models.ts';
import { planModels } from '../../../src/cli/serve/serve-plan.ts';
import { EngineError, MODEL_KINDS, shippedModelPath } from '../../../src/index.ts';
import { type RunningServer, startServer } from '../../../src/server/lifecycle.ts';
import { openFakeImageModel } from '../../server/fake-image-model.ts';
import { createFakeEmbeddingModel } from '../../server/fake-embedding-model.ts';
import { createFakeModel } from '../../server/fake-model.ts';

let home: string;
let chat: string;
let scenes: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-serve-'));
  const folder = (name: string, file: string) => {
    mkdirSync(join(home, name));
    writeFileSync(join(home, name, file), '{}');
    return join(home, name);
  };
  chat = folder('chat', 'config.json');
  scenes = folder('scenes', 'model_index.json');
});
afterAll(() => rmSync(home, { recursive: true }));

describe('the list of served models', () => {
  it('is the shipped models, where none is named', () => {
    expect(planModels([])[0]).toEqual({ path: shippedModelPath(), kind: MODEL_KINDS.text, optional: false });
  });

  it('tells kinds apart by files; a folder without lists, and an id, once it is opened', () => {
    expect(planModels([chat, scenes, 'org/name'])).toEqual([
      { path: chat, kind: null, optional: false },
      { path: scenes, kind: MODEL_KINDS.image, optional: false },
      { path: 'org/name', names: ['org/name'], kind: null, optional: false },
    ]);
  });

  it('has all names of one model, or one each of several', () => {
    expect(planModels([chat], ['a', 'b'])[0]?.names).toEqual(['a', 'b']);
    expect(planModels([chat, scenes], ['a']).map(({ names }) => names)).toEqual([['a'], undefined]);
    expect(() => planModels([chat, scenes], ['a', 'b', 'c'])).toThrow('3 names for 2 models');
    expect(() => planModels([chat, `${chat}/`])).toThrow('two models are called chat');
    expect(planModels([chat, chat], ['a', 'b']).map(({ names }) => names)).toEqual([['a'], ['b']]);
  });
});

it('options that exclude each other are refused before a server is started', () => {
  const models = planModels([chat]);
  expect(() => checkModelOptions(models, { 'storage-cache-size': 1e9 } as never)).toThrow(
    'has no effect without `storageCache`',
  );
  expect(() => checkModelOptions(models, {} as never)).not.toThrow();
});

it('a model judges if it is the only one that may be meant', () => {
  const judge = { judge: true };
  const [one] = planModels([chat]);
  expect(openedKind(one!, judge)).toBe(MODEL_KINDS.embedding);
  expect(openedKind(one!, {})).toBe(MODEL_KINDS.text);
  expect(() => checkJudge(planModels([chat, scenes]), judge)).not.toThrow();
  expect(() => checkJudge(planModels([chat, 'org/name']), judge)).toThrow(
    `each of ${chat}, org/name may be meant`,
  );
  expect(() => checkJudge(planModels([scenes]), judge)).toThrow('and there is none');
  expect(() => checkJudge(planModels([chat, 'org/name']), {})).not.toThrow();
});

const servers: RunningServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function keep(paths: string[], open: Partial<Openers>, optional = false) {
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  const server = await startServer({ host: '127.0.0.1', port: 0, drainTime: 100 }, log);
  servers.push(server);
  const troubles: string[] = [];
  const kept = keepModels(
    planModels(paths).map((model) => ({ ...model, optional })),
    {
      server,
      open: {
        text: async () => createFakeModel(),
        image: openFakeImageModel,
        embedding: async () => createFakeEmbeddingModel(),
        ...open,
      },
      options: {
        quantization: 'int8',
        'activation-dtype': 'float',
        'kv-cache-dtype': 'auto',
        'speculative-algorithm': 'none',
        'sampling-defaults': 'model',
        'logprobs-mode': 'raw',
        'json-schema-mode': 'declared',
        'max-running-requests': 4,
        'upscaling-model-path': 'network.safetensors',
      },
      leaving: new AbortController().signal,
      onEvent() {},
      onReady() {},
      onTrouble: (message) => troubles.push(message),
    },
  );
  kept.catch(() => {});
  return { server, kept, troubles };
}

describe('models in one server', () => {
  it('open one after the other, each with the options of its kind', async () => {
    const given: object[] = [];
    const { server } = await keep([chat, scenes], {
      text: async (options) => (given.push(options), createFakeModel()),
      image: async (options) => (given.push(options), openFakeImageModel()),
    });
    await expect.poll(() => server.names()).toEqual(['fake-chat', 'fake-scenes']);
    expect(given).toEqual([
      {
        model: chat,
        quantization: 'int8',
        samplingDefaults: 'model',
        speculativeAlgorithm: 'none',
        logprobsMode: 'raw',
        jsonSchemaMode: 'declared',
        activationDtype: 'float',
        kvCacheDtype: 'auto',
        maxRunningRequests: 4,
      },
      { model: scenes, quantization: 'int8', upscalingModelPath: 'network.safetensors', prepare: true },
    ]);
  });

  it('an id of the hub may turn out to hold a pipeline', async () => {
    const { server } = await keep(['org/name'], {
      text: () => Promise.reject(new EngineError('unsupported', 'a pipeline', { param: 'model_index.json' })),
    });
    await expect.poll(() => server.names()).toEqual(['org/name']);
    const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: object[] };
    expect(data[0]).toHaveProperty('pipeline');
  });

  it('an id of the hub may turn out to make embeddings, for which options of image models have no effect', async () => {
    const { server, troubles } = await keep(['org/name'], {
      text: () => Promise.reject(new EngineError('unsupported', 'embeddings', { param: 'modules.json' })),
    });
    await expect.poll(() => server.names()).toEqual(['org/name']);
    const { data } = (await (await fetch(`${server.url}/v1/models`)).json()) as { data: object[] };
    expect(data[0]).toHaveProperty('pooling');
    expect(troubles).toEqual([
      '--upscaling-model-path is for image models, and there is none among these: it has no effect',
    ]);
  });

  it('embedding models get their options, seen by their modules or once their opening as text is refused', async () => {
    const golden = fileURLToPath(new URL('../../golden/embedding/qwen3', import.meta.url));
    expect(planModels([golden])[0]?.kind).toBe(MODEL_KINDS.embedding);
    const given: object[] = [];
    await keep([chat], {
      text: () => Promise.reject(new EngineError('unsupported', 'embeddings', { param: 'modules.json' })),
      embedding: async (options) => (given.push(options), createFakeEmbeddingModel()),
    });
    await expect.poll(() => given).toEqual([{ model: chat, quantization: 'int8' }]);
  });

  it('are opened again if they end, and take no other with them', async () => {
    const first = await openFakeImageModel();
    let opened = 0;
    const { server, troubles } = await keep([chat, scenes], {
      image: async () => {
        opened += 1;
        if (opened === 1) return first;
        if (opened === 2)
          return openFakeImageModel().then(
            (model) => (setTimeout(() => model.die(new Error('again')), 50), model),
          );
        throw new EngineError('out_of_memory', 'no memory is left');
      },
    });
    await expect.poll(() => server.names()).toHaveLength(2);
    first.die(new Error('its thread ended'));
    await expect
      .poll(() => troubles)
      .toEqual([
        `its thread ended. Opening ${scenes} again.`,
        `again. Opening ${scenes} again.`,
        `${scenes} is no longer served: no memory is left`,
      ]);
    expect(server.names()).toEqual(['fake-chat']);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('end the server when the last of them has ended, with the reason', async () => {
    const model = createFakeModel();
    let opened = 0;
    const { kept, server } = await keep([chat], {
      text: async () => {
        if (opened++ > 0) throw new EngineError('bad_checkpoint', 'it is broken');
        return model;
      },
    });
    await expect.poll(() => server.names()).toHaveLength(1);
    model.die(new Error('the thread ended'));
    await expect(kept).rejects.toMatchObject({ code: 'bad_checkpoint' });
  });

  it('end the server if one that was named cannot be opened', async () => {
    const open = { image: () => Promise.reject(new EngineError('bad_checkpoint', 'it is broken')) };
    await expect((await keep([chat, scenes], open)).kept).rejects.toThrow('it is broken');
    const { server, troubles } = await keep([chat, scenes], open, true);
    await expect.poll(() => troubles).toEqual([`${scenes} is not served: it is broken`]);
    expect(server.names()).toEqual(['fake-chat']);
  });
});

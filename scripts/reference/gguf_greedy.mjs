// Records what llama.cpp generates greedily with the GGUF files that gguf_files.py made, in test/golden/gguf/greedy.json:
//   npm install --ignore-scripts node-llama-cpp@3.22.1    (in a folder of its own, where its prebuilt CPU library comes along)
//   node scripts/reference/gguf_greedy.mjs FOLDER         FOLDER: that folder

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../../test/golden/gguf', import.meta.url));
const FOLDER = resolve(process.argv[2] ?? '.');
const PROMPT = [10, 13, 17, 3, 22, 11, 30, 21];
const TOKENS = 24;

const library = createRequire(join(FOLDER, 'package.json')).resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(library).href);
const { version } = JSON.parse(
  readFileSync(join(FOLDER, 'node_modules/node-llama-cpp/package.json'), 'utf8'),
);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error, maxThreads: 1 });

/** Ids of the most likely tokens behind the prompt, each fed back. */
async function generate(path) {
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createContext({ contextSize: 64, batchSize: 64, threads: 1, flashAttention: false });
  const ids = [];
  for await (const id of context.getSequence().evaluate(PROMPT, { temperature: 0, yieldEogToken: true })) {
    ids.push(id);
    if (ids.length === TOKENS) break;
  }
  await context.dispose();
  await model.dispose();
  return ids;
}

/**
 * This library's llama.cpp takes Phi-3's long factors for every position once the context may be long, where transformers goes by the
 * text's length, and does not read the base of OLMo 3's windowed layers, which newer ones read. Of EXAONE 4 it takes a model of 64 layers alone as
 * one with windows. It weighs PhiMoE's experts by one softmax.
 */
const LEFT_OUT = ['bert', 'xlm-roberta', 'embedding', 'lora', 'phi3', 'olmo3', 'exaone4', 'phimoe'];

const found = {};
for (const { name } of readdirSync(ROOT, { withFileTypes: true }).filter((one) => one.isDirectory())) {
  if (LEFT_OUT.includes(name)) continue;
  found[name] = await generate(join(ROOT, name, 'model.gguf'));
}
const golden = { by: `node-llama-cpp ${version}`, prompt: PROMPT, tokens: found };
writeFileSync(join(ROOT, 'greedy.json'), `${JSON.stringify(golden)}\n`);
process.exit(0);

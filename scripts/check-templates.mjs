// Published chat templates against transformers: each renders nine generated conversations, in both.
//   node scripts/check-templates.mjs FOLDER [--python PATH] [--seed N]
// FOLDER: searched for *.jinja, tokenizer_config.json and chat_template.json. PATH (or PYTHON): a Python with scripts/reference/requirements.txt.
// Two shares of equal renders are printed: that of the interpreter on the inputs of Python's, and that of the whole engine on what a client sends; every render of the
// product that differs stands under its reason. Exit code 1 where one has none, or the interpreter differs.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { JinjaTemplate } from '../dist/files/template/jinja/jinja.js';
import { openChatTemplate } from '../dist/files/template/template.js';
import { conversationsOf, OBJECTS } from './template-conversations.mjs';

const { values, positionals } = parseArgs({
  options: {
    python: { type: 'string', default: process.env.PYTHON ?? 'python3' },
    seed: { type: 'string', default: '1' },
  },
  allowPositionals: true,
});
const [folder] = positionals;
if (folder === undefined)
  throw new Error('the folder of templates is missing: node scripts/check-templates.mjs FOLDER');

const SPECIALS = { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };

/** @returns {{ name: string, source: string }[]} each source once */
function findTemplates(root) {
  const found = new Map();
  const files = readdirSync(root, { recursive: true }).map(String).toSorted();
  const add = (name, source) => {
    if (!found.has(source)) found.set(source, name);
  };
  for (const file of files) {
    if (file.endsWith('.jinja')) add(file, readFileSync(join(root, file), 'utf8'));
    else if (/(^|[\\/])(tokenizer_config|chat_template)\.json$/.test(file)) {
      const { chat_template: given } = JSON.parse(readFileSync(join(root, file), 'utf8'));
      if (typeof given === 'string') add(file, given);
      else for (const { name, template } of given ?? []) add(`${file} (${name})`, template);
    }
  }
  return [...found].map(([source, name]) => ({ name, source }));
}

/** Renders in Python; returns one reply for each of `renders`. */
function renderInPython(templates, renders) {
  const script = fileURLToPath(new URL('reference/chat_templates.py', import.meta.url));
  const input = JSON.stringify({ templates: templates.map(({ source }) => source), renders });
  const { status, stdout, stderr, error } = spawnSync(values.python, [script], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) throw new Error(`${values.python} ${script} failed: ${error?.message ?? stderr}`);
  return JSON.parse(stdout);
}

function attempt(render) {
  try {
    return { text: render() };
  } catch (error) {
    return { error: error.message };
  }
}

const agree = (ours, python) =>
  python.error === undefined ? ours.text === python.text : ours.error !== undefined;

/** Renames reasoning as transformers' render_jinja_template does. */
function withReasoningNames(message) {
  const name = ['reasoning_content', 'thinking', 'reasoning'].find((one) => message[one] != null);
  return name ? { thinking: message[name], ...message, reasoning_content: message[name] } : message;
}

/** Returns the first place where two texts differ, with both texts there. */
function difference(ours, python) {
  if (ours.error !== undefined || python.error !== undefined)
    return `ours ${JSON.stringify(ours).slice(0, 200)}, Python's ${JSON.stringify(python).slice(0, 200)}`;
  let at = 0;
  while (ours.text[at] === python.text[at]) at++;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 50));
  return `at ${at}: ours ${around(ours.text)}, Python's ${around(python.text)}`;
}

const templates = findTemplates(folder);
const conversations = conversationsOf(Number(values.seed));
const asked = templates.flatMap((_, template) =>
  conversations.flatMap(({ name, tools, addGenerationPrompt, kwargs, forms }) =>
    Object.entries(forms).map(([form, messages]) => ({
      template,
      conversation: name,
      form,
      messages,
      tools,
      add_generation_prompt: addGenerationPrompt,
      variables: { ...SPECIALS, ...kwargs },
    })),
  ),
);
const replies = renderInPython(templates, asked);

/** @type {{ equal: number, refused: number, other: string[] }} */
const interpreter = { equal: 0, refused: 0, other: [] };
asked.forEach((one, at) => {
  const ours = attempt(() =>
    new JinjaTemplate(templates[one.template].source, templates[one.template].name).render({
      messages: one.messages.map(withReasoningNames),
      tools: one.tools,
      documents: null,
      add_generation_prompt: one.add_generation_prompt,
      ...one.variables,
    }),
  );
  if (!agree(ours, replies[at]))
    interpreter.other.push(
      `${templates[one.template].name}, ${one.conversation}, ${one.form}: ${difference(ours, replies[at])}`,
    );
  else if (ours.error === undefined) interpreter.equal++;
  else interpreter.refused++;
});

/** Beginning of prompts of gpt-oss; test/files/template/harmony.test.ts compares them with openai-harmony. */
const HARMONY = '<|start|>system<|message|>';

/** Returns the reason why a render of the product differs from Python's; null: no known reason. */
function reasonOf(ours, byForm) {
  const { 'as sent': sent, ...others } = byForm;
  const form = Object.keys(others).find((name) => ours.text !== undefined && others[name].text === ours.text);
  if (form !== undefined) return form;
  if (sent.error !== undefined && ours.error === undefined)
    return 'another form of the conversation is rendered';
  if (ours.text?.startsWith(HARMONY)) return 'the format harmony is rendered as openai-harmony renders it';
  return null;
}

/** @type {{ equal: number, objects: number, refused: number, reasons: Map<string, string[]>, other: string[] }} */
const product = { equal: 0, objects: 0, refused: 0, reasons: new Map(), other: [] };
templates.forEach(({ name, source }, template) => {
  const chat = openChatTemplate({ default: source }, SPECIALS);
  for (const { name: conversation, tools, addGenerationPrompt, kwargs, forms } of conversations) {
    const byForm = Object.fromEntries(
      asked.flatMap((one, at) =>
        one.template === template && one.conversation === conversation ? [[one.form, replies[at]]] : [],
      ),
    );
    const sent = byForm['as sent'];
    const ours = attempt(() =>
      chat.render({ messages: forms['as sent'], tools, addGenerationPrompt, kwargs }),
    );
    const place = `${name}, ${conversation}`;
    const isObjects = ours.text !== undefined && byForm[OBJECTS]?.text === ours.text;
    if (agree(ours, sent)) product[ours.error === undefined ? 'equal' : 'refused']++;
    else if (isObjects) product.objects++;
    else {
      const reason = reasonOf(ours, byForm);
      if (reason === null) product.other.push(`${place}: ${difference(ours, sent)}`);
      else {
        const full = sent.error === undefined ? reason : `${reason} (transformers refuses it as it was sent)`;
        product.reasons.set(full, [...(product.reasons.get(full) ?? []), place]);
      }
    }
  }
});

const share = (part, whole) => `${part} of ${whole} (${((100 * part) / whole).toFixed(1)} %)`;
console.log(`${templates.length} templates, ${conversations.length} conversations each`);
console.log(
  `interpreter, given the same values: ${share(interpreter.equal + interpreter.refused, asked.length)} agree: ${interpreter.equal} texts are equal, ${interpreter.refused} both refuse`,
);
for (const line of interpreter.other) console.log(`  differs: ${line}`);
const all = templates.length * conversations.length;
console.log(
  `product, given what a client sends: ${share(product.equal + product.objects + product.refused, all)} agree: ${product.equal} texts are equal, ${product.objects} are where ${OBJECTS}, ${product.refused} both refuse`,
);
for (const [reason, places] of product.reasons) {
  console.log(`  ${places.length}: ${reason}`);
  for (const place of places) console.log(`    ${place}`);
}
for (const line of product.other) console.log(`  differs without a known reason: ${line}`);
process.exitCode = interpreter.other.length + product.other.length > 0 ? 1 : 0;

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { openChatTemplate, type ChatRendering } from '../../../src/files/template/template.ts';
import { JinjaTemplate } from '../../../src/files/template/jinja/jinja.ts';
import { namedRoles } from '../../../src/files/template/template-roles.ts';

const specials = { bos_token: '<s>', eos_token: '</s>' };
const CHATML =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

function render(source: string | Record<string, string>, rendering: ChatRendering): string {
  return openChatTemplate(typeof source === 'string' ? { default: source } : source, specials).render(
    rendering,
  );
}

function thrown(action: () => unknown): EngineError {
  try {
    action();
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const hi = [{ role: 'user', content: 'Hi' }];

describe('rendering a chat template', () => {
  it('gives the template messages, special tokens and the generation prompt', () => {
    const source =
      "{{ bos_token }}{{ messages[0]['content'] + eos_token }}{% if add_generation_prompt %}>{% endif %}";
    expect(render(source, { messages: hi })).toBe('<s>Hi</s>>');
    expect(render(source, { messages: hi, addGenerationPrompt: false })).toBe('<s>Hi</s>');
  });

  it('passes tools, None where there are none, and takes the tool template for them', () => {
    const named = {
      default: 'plain {{ tools is none }} {{ messages[0].content }}',
      tool_use: 'tools {{ tools | length }}',
    };
    const tools = [{ type: 'function', function: { name: 'f' } }];
    expect(render(named, { messages: hi })).toBe('plain True Hi');
    expect(render(named, { messages: hi, tools: [] })).toBe('plain True Hi');
    expect(render(named, { messages: hi, tools })).toBe('tools 1');
    expect(render('{{ tools[0].function | tojson }}{{ messages[0].content }}', { messages: hi, tools })).toBe(
      '{"name": "f"}Hi',
    );
  });

  it('gives empty lists to a template that fails on None', () => {
    const source = '{% for t in tools %}{{ t.function.name }}{% endfor %}{{ messages[0].content }}';
    expect(render(source, { messages: hi })).toBe('Hi');
  });

  it('lays kwargs over its variables, and refuses names that are not free', () => {
    const source =
      '{{ bos_token }}{{ messages[0].content }}{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}';
    expect(render(source, { messages: hi })).toBe('<s>Hi');
    expect(render(source, { messages: hi, kwargs: { enable_thinking: false, bos_token: '!' } })).toBe(
      '!Hi<think></think>',
    );
    for (const name of ['messages', 'tools', 'range', 'strftime_now']) {
      const error = thrown(() => render(source, { messages: hi, kwargs: { [name]: 1 } }));
      expect(error).toMatchObject({ code: 'bad_request', param: `chat_template_kwargs.${name}` });
    }
  });

  it('knows the date as Python writes it', () => {
    const text = render("{{ strftime_now('%Y') }}{{ messages[0].content }}", { messages: hi });
    expect(text).toBe(`${new Date().getFullYear()}Hi`);
  });

  it("reports a template's refusal in its own words", () => {
    const source =
      "{% if messages[0].role != 'user' %}{{ raise_exception('Only users start.') }}{% endif %}{{ messages[0].content }}";
    const error = thrown(() => render(source, { messages: [{ role: 'assistant', content: 'x' }] }));
    expect(error).toMatchObject({ code: 'bad_request', param: 'messages' });
    expect(error.message).toMatch(/refused these messages: Only users start\.$/);
  });

  it('opens without a template, or with a broken one, and says why at the first message', () => {
    const none = openChatTemplate(null, specials);
    const refusal = thrown(() => none.render({ messages: hi }));
    expect(refusal).toMatchObject({ code: 'unsupported', param: 'messages' });
    expect(refusal.message).toMatch(/no chat template.*chat_template.jinja.*plain text prompt/);
    const broken = openChatTemplate({ default: '{% if %}' }, specials);
    expect(thrown(() => broken.render({ messages: hi })).message).toMatch(/cannot be read/);
  });
});

describe('roles that a template knows', () => {
  const roles = (source: string) => [...namedRoles(new JinjaTemplate(source, 'roles').syntax)].toSorted();

  it('are read where a role is compared, in any spelling', () => {
    expect(roles("{% if message.role == 'tool' or m['role'] != \"user\" %}x{% endif %}")).toEqual([
      'tool',
      'user',
    ]);
    expect(roles("{% if role in ['system', 'developer'] %}x{% endif %}")).toEqual(['developer', 'system']);
    expect(
      roles("{% for m in messages %}{{ 'a' if ('assistant' == m.role and loop.first) }}{% endfor %}"),
    ).toEqual(['assistant']);
    expect(roles("{% macro f(m) %}{% set x = m.role not in ('function', 'tool') %}{% endmacro %}")).toEqual([
      'function',
      'tool',
    ]);
  });

  it('are not read elsewhere', () => {
    expect(
      roles("{% if t.type == 'function' %}developer{% endif %}{{ '<' + m.role }}{{ {'developer': 1} }}"),
    ).toEqual([]);
  });

  it('developer becomes system and function tool where the template does not name them', () => {
    const messages = ['developer', 'user', 'function'].map((role) => ({ role, content: role }));
    expect(render(CHATML, { messages, addGenerationPrompt: false })).toBe(
      '<|im_start|>system\ndeveloper<|im_end|>\n<|im_start|>user\nuser<|im_end|>\n<|im_start|>tool\nfunction<|im_end|>\n',
    );
    const knows =
      "{% for m in messages %}{{ m.role }}{% if m.role in ['developer', 'function'] %}!{% endif %} {% endfor %}";
    expect(render(knows, { messages, addGenerationPrompt: false })).toBe('developer! user function! ');
  });
});

describe('content of messages in a template', () => {
  const parts = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ];
  const PARTS_ONLY = '{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}';
  const BOTH =
    '{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}';

  it('in parts is joined for a template of text, also where printing the list would hide it', () => {
    expect(render('{{ messages[0].content }}', { messages: [{ role: 'user', content: parts }] })).toBe(
      'one\ntwo',
    );
  });
  it('as text becomes a part for a template of parts', () => {
    expect(render(PARTS_ONLY, { messages: hi })).toBe('[Hi]');
    expect(render(PARTS_ONLY, { messages: [{ role: 'user', content: parts }] })).toBe('[one][two]');
    expect(render(PARTS_ONLY, { messages: [{ role: 'assistant', content: null }] })).toBe('');
  });
  it('in parts is left to a template that takes both', () => {
    expect(render(BOTH, { messages: [{ role: 'user', content: parts }] })).toBe('onetwo');
    expect(render(BOTH, { messages: [{ role: 'user', content: parts.slice(0, 1) }] })).toBe('one');
  });
  it('that is null is None, and undefined where there is none', () => {
    const told = (message: object) => {
      const source =
        "{{ messages[0].content }}|{{ messages[0].content is none }}|{{ 'content' in messages[0] }}";
      return render(source, { messages: [{ role: 'assistant', ...message }] });
    };
    expect(told({ content: null })).toBe('None|True|True');
    expect(told({})).toBe('|False|False');
  });
  it('that is null is empty text to a template that fails on None', () => {
    const source = "{% for m in messages %}{{ m.role + ':' + m.content }}{% endfor %}";
    expect(render(source, { messages: [{ role: 'assistant', content: null }] })).toBe('assistant:');
    expect(render(PARTS_ONLY, { messages: [...hi, { role: 'assistant', content: null }] })).toBe('[Hi]');
  });
  it('that is not text is refused with its path', () => {
    const messages = [
      ...hi,
      ...hi,
      { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'image_url' }] },
    ];
    expect(thrown(() => render(CHATML, { messages }))).toMatchObject({
      code: 'unsupported',
      param: 'messages.2.content.1',
    });
    const empty = [{ role: 'user', content: [{ type: 'text' }] }];
    expect(thrown(() => render(CHATML, { messages: empty }))).toMatchObject({
      code: 'bad_request',
      param: 'messages.0.content.0.text',
    });
  });
});

describe('calls and reasoning in earlier messages', () => {
  const messages = [
    ...hi,
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'why',
      tool_calls: [{ function: { name: 'f', arguments: '{"a": 1}' } }],
    },
  ];
  const opening = '{{ messages[0].content }}{% for m in messages %}{% for c in m.tool_calls or [] %}';
  const closing = '{% endfor %}{% endfor %}';

  it('reach a template that joins arguments to its text as text', () => {
    const source = `${opening}{{ c.function.name + '(' + c.function.arguments + ')' }}${closing}`;
    expect(render(source, { messages })).toBe('Hif({"a": 1})');
  });

  it('reach one that takes calls for calls where the content is None', () => {
    const source = `{{ messages[0].content }}{% for m in messages %}{% if m.content is none %}{{ m.tool_calls[0].function.arguments | tojson }}{% endif %}{% endfor %}`;
    expect(render(source, { messages })).toBe('Hi{"a": 1}');
  });

  it('reach one that knows reasoning as thinking', () => {
    const source = `{% for m in messages %}{% if "thinking" in m %}{{ m.thinking }}{% endif %}{{ m.content }}{% endfor %}`;
    expect(render(source, { messages })).toBe('HiwhyNone');
  });
});

describe('a hostile template', () => {
  it.each([
    ['loops for ever', '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}'],
    ['writes for ever', "{{ 'a' * 10 ** 9 }}"],
    ['calls itself', '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'],
  ])('that %s is not opened, and says so at the first message', (_name, source) => {
    const template = openChatTemplate({ default: source }, specials);
    expect(template.problem?.message).toMatch(/^the chat template "default" exceeds the limit/);
    expect(thrown(() => template.render({ messages: hi }))).toMatchObject({ code: 'unsupported' });
  });

  it('that turns endless in a long conversation ends there', () => {
    const source =
      "{{ messages[0].content }}{% if messages | length > 5 %}{% set ns = namespace(text='ab') %}{% for a in range(99) %}{% set ns.text = ns.text ~ ns.text %}{% endfor %}{% endif %}";
    const template = openChatTemplate({ default: source }, specials);
    expect(template.problem).toBe(null);
    const error = thrown(() => template.render({ messages: [...hi, ...hi, ...hi, ...hi, ...hi, ...hi] }));
    expect(error.code).toBe('unsupported');
    expect(error.message).toMatch(/limit of a text of 67,108,864 characters/);
  });
});

// Chat templates of classes whose checkpoints were published without one: what their programs make of a conversation.

/** DeepSeek-OCR's form `plain`: contents follow each other, without roles; an image stands on a line of its own. */
const DEEPSEEK_OCR = `{{ bos_token }}{% for message in messages %}{% if message['content'] is string %}{{ message['content'] }}
{%- else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}{{ '<image>\\n' }}{% else %}{{ part['text'] }}{% endif %}
{%- endfor %}{% endif %}{% endfor %}`;

const TEMPLATES: ReadonlyMap<string, string> = new Map([['DeepseekOCRForCausalLM', DEEPSEEK_OCR]]);

/** null: checkpoints of the class have their own. */
export const classTemplate = (className: string): string | null => TEMPLATES.get(className) ?? null;

// Chat templates of classes whose checkpoints were published without one: what their programs make of a conversation.

/** DeepSeek-OCR's form `plain`: contents follow each other, without roles; an image stands on a line of its own. */
const DEEPSEEK_OCR = `{{ bos_token }}{% for message in messages %}{% if message['content'] is string %}{{ message['content'] }}
{%- else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}{{ '<image>\\n' }}{% else %}{{ part['text'] }}{% endif %}
{%- endfor %}{% endif %}{% endfor %}`;

/** By classes, and by general.architecture of their GGUF files. */
const TEMPLATES: ReadonlyMap<string, string> = new Map([
  ['DeepseekOCRForCausalLM', DEEPSEEK_OCR],
  ['deepseek2-ocr', DEEPSEEK_OCR],
]);

/** null: checkpoints of the class have their own. */
export const classTemplate = (name: string): string | null => TEMPLATES.get(name) ?? null;

/** How much of a document is searched (bytes). */
const MAX_SEARCHED = 1_048_576;
/** The longest attribute value that is kept (bytes). */
const MAX_VALUE = 16_384;

/** Elements whose content is text up to their end tag (HTML Standard 13.2.5.2 to 13.2.5.4). `noscript` is one if scripts run. */
const RAW_TEXT: ReadonlySet<string> = new Set('script style title textarea noscript xmp iframe noembed noframes'.split(' '));
/**
 * If one of these begins before the insertion point, there is none. In `svg` and `math` other rules apply to comments and text, in a
 * `frameset` scripts are ignored, browsers differ on what a `select` contains, and `plaintext` never ends (HTML Standard 13.2.6.5,
 * 13.2.6.4.20, 13.2.5.5).
 */
const UNSEARCHED: ReadonlySet<string> = new Set('svg math frameset select plaintext'.split(' '));
/** Elements whose attributes are reported. */
const REPORTED: ReadonlySet<string> = new Set(['meta', 'base']);
/** Their attributes that are kept: a hostile page may have hundreds of thousands of others. */
const KEPT: ReadonlySet<string> = new Set(['charset', 'http-equiv', 'content', 'href']);
/** Names are cut at this length; all that matter are shorter. */
const MAX_NAME = 12;

const LT = 0x3c;
const GT = 0x3e;
const SLASH = 0x2f;
const BANG = 0x21;
const QUESTION = 0x3f;
const DASH = 0x2d;
const EQUALS = 0x3d;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;

type State =
  | 'text'
  | 'tag open'
  | 'tag name'
  | 'before attribute'
  | 'attribute name'
  | 'after attribute name'
  | 'before value'
  | 'value'
  | 'markup'
  | 'comment'
  /** `<!doctype …>`, `<?…>` and everything else that ends with the first `>`. */
  | 'bogus comment'
  /** There is no insertion point in the document. */
  | 'over';

/**
 * `searching`: bytes before `safe` can be passed on; the others, at most six, may begin the insertion point. `found`: it is at `safe`.
 * `none`: there is none, and nothing more needs to be scanned. `safe` is an offset in the piece, below `from` if the point began before it.
 */
export type Scan = { readonly outcome: 'searching' | 'found' | 'none'; readonly safe: number };

/** The attributes of a start tag that matter, by name in lower case, the first of each name. A value that is too long is null. */
export type Attributes = ReadonlyMap<string, string | null>;

/**
 * Finds where the `<head>` of an HTML document ends as the document arrives in pieces: at `</head>` or, in a document without one, at
 * `<body>`. It follows the tokenizer of the HTML Standard (13.2.5) far enough not to be misled by comments, attribute values, scripts
 * and other elements that contain text. The document is in an encoding that contains ASCII.
 */
export class HeadScanner {
  private readonly onTag: (name: string, attributes: Attributes) => void;
  private state: State = 'text';
  private scanned = 0;
  /** The offset in the document of the `<` of the current tag. */
  private tagAt = 0;
  private closing = false;
  private name = '';
  private attribute = '';
  private value: string | null = '';
  /** The quotation mark around the current value; 0 if there is none. */
  private quote = 0;
  private attributes: Map<string, string | null> | null = null;
  /** The element whose text is being skipped; empty if none is. */
  private raw = '';
  /**
   * Whether the scan is in a script between `<!--` and `-->`, and in a `<script>` inside that, whose end tag does not end the outer one
   * (13.2.5.17 to 13.2.5.31).
   */
  private escaped = false;
  private doubleEscaped = false;
  /** How many `<template>` are open. A script in one is not executed. */
  private templates = 0;
  /** In a comment: how many dashes were just seen, whether `--!` was, and whether nothing else has been seen yet. */
  private dashes = 0;
  private bang = false;
  private fresh = false;

  /** @param onTag called for each `<meta>` and `<base>` before the insertion point. */
  constructor(onTag: (name: string, attributes: Attributes) => void) {
    this.onTag = onTag;
  }

  scan(buffer: Buffer, from: number, to: number): Scan {
    const offset = this.scanned - from;
    // The buffer may be larger than what is in it.
    const bytes = buffer.subarray(0, to);
    for (let at = this.skip(bytes, from); at < to; at = this.skip(bytes, at + 1)) {
      const byte = bytes[at] as number;
      if (this.state === 'tag name' && this.isPlace(byte)) return { outcome: 'found', safe: this.tagAt - offset };
      this.step(byte, at + offset);
      if (this.state === 'over') return { outcome: 'none', safe: from };
    }
    this.scanned += to - from;
    if (this.scanned > MAX_SEARCHED) return { outcome: 'none', safe: from };
    return { outcome: 'searching', safe: this.mayBePlace() ? this.tagAt - offset : to };
  }

  /** @returns the next byte that can change anything, at `at` or later; the end of the piece if none can. */
  private skip(bytes: Buffer, at: number): number {
    switch (this.state) {
      case 'text':
        return this.escaped ? at : next(bytes, LT, at);
      case 'comment':
        return this.skipComment(bytes, at);
      case 'bogus comment':
        return next(bytes, GT, at);
      case 'value':
        return this.quote === 0 || this.attributes !== null ? at : next(bytes, this.quote, at);
      default:
        return at;
    }
  }

  /** Only the three bytes before a `>` decide whether it ends the comment. */
  private skipComment(bytes: Buffer, at: number): number {
    const deciding = next(bytes, GT, at) - 3;
    if (deciding <= at) return at;
    this.dashes = 0;
    this.bang = false;
    this.fresh = false;
    return deciding;
  }

  private isPlace(byte: number): boolean {
    return this.raw === '' && this.templates === 0 && endsName(byte) && this.name === (this.closing ? 'head' : 'body');
  }

  private mayBePlace(): boolean {
    if (this.raw !== '' || this.templates > 0) return false;
    if (this.state === 'tag open') return true;
    return this.state === 'tag name' && (this.closing ? 'head' : 'body').startsWith(this.name);
  }

  private step(byte: number, position: number): void {
    switch (this.state) {
      case 'text':
        return this.text(byte, position);
      case 'tag open':
        return this.tagOpen(byte, position);
      case 'tag name':
        return this.tagName(byte, position);
      case 'before attribute':
        return this.beforeAttribute(byte);
      case 'attribute name':
        return this.attributeName(byte);
      case 'after attribute name':
        return this.afterAttributeName(byte);
      case 'before value':
        return this.beforeValue(byte);
      case 'value':
        return this.inValue(byte);
      case 'markup':
        return this.markup(byte, position);
      case 'comment':
        return this.comment(byte);
      case 'bogus comment':
        if (byte === GT) this.state = 'text';
        return;
      case 'over':
    }
  }

  private text(byte: number, position: number): void {
    this.state = 'text';
    if (byte === LT) {
      this.tagAt = position;
      this.state = 'tag open';
    } else if (this.escaped && byte === GT && this.dashes >= 2) this.unescape();
    this.dashes = byte === DASH ? this.dashes + 1 : 0;
  }

  private tagOpen(byte: number, position: number): void {
    this.closing = byte === SLASH;
    this.name = '';
    this.attributes = null;
    this.dashes = 0;
    this.state = 'tag name';
    if (this.closing) return;
    if (byte === BANG) this.state = 'markup';
    else if (isLetter(byte)) this.name = lower(byte);
    else if (byte === QUESTION && this.raw === '') this.state = 'bogus comment';
    else this.text(byte, position);
  }

  private tagName(byte: number, position: number): void {
    if (this.raw !== '') return this.rawTagName(byte, position);
    if (this.name === '' && !isLetter(byte)) this.state = byte === GT ? 'text' : 'bogus comment';
    else if (byte === GT) this.tagEnd();
    else if (endsName(byte)) this.state = 'before attribute';
    else if (this.name.length < MAX_NAME) this.name += lower(byte);
    if (this.state === 'before attribute' && REPORTED.has(this.name) && !this.closing) this.attributes = new Map();
  }

  /** A tag within an element of text: only the element's own end tag counts, and in an escaped script, further scripts. */
  private rawTagName(byte: number, position: number): void {
    if (!endsName(byte)) {
      if (!isLetter(byte) || this.name.length >= MAX_NAME) return this.text(byte, position);
      this.name += lower(byte);
      return;
    }
    if (this.closing && this.name === this.raw && !this.doubleEscaped) {
      this.raw = '';
      this.unescape();
      this.state = byte === GT ? 'text' : 'before attribute';
      return;
    }
    if (this.escaped && this.name === 'script') this.doubleEscaped = !this.closing;
    this.text(byte, position);
  }

  private unescape(): void {
    this.escaped = false;
    this.doubleEscaped = false;
  }

  private beforeAttribute(byte: number): void {
    if (byte === GT) this.tagEnd();
    else if (byte !== SLASH && !isSpace(byte)) this.beginAttribute(byte);
  }

  private beginAttribute(byte: number): void {
    this.state = 'attribute name';
    this.attribute = lower(byte);
    this.value = '';
  }

  private attributeName(byte: number): void {
    if (byte === EQUALS) this.state = 'before value';
    else if (isSpace(byte)) this.state = 'after attribute name';
    else if (byte === SLASH || byte === GT) this.endAttribute(byte);
    else if (this.attribute.length < MAX_NAME) this.attribute += lower(byte);
  }

  private afterAttributeName(byte: number): void {
    if (byte === EQUALS) this.state = 'before value';
    else if (byte === SLASH || byte === GT) this.endAttribute(byte);
    else if (!isSpace(byte)) {
      this.endAttribute(byte);
      this.beginAttribute(byte);
    }
  }

  private beforeValue(byte: number): void {
    if (isSpace(byte)) return;
    if (byte === GT) return this.endAttribute(byte);
    this.quote = byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE ? byte : 0;
    this.state = 'value';
    if (this.quote === 0) this.addToValue(byte);
  }

  private inValue(byte: number): void {
    const ends = this.quote === 0 ? byte === GT || isSpace(byte) : byte === this.quote;
    if (ends) this.endAttribute(byte);
    else this.addToValue(byte);
  }

  private addToValue(byte: number): void {
    if (this.attributes === null || this.value === null) return;
    this.value = this.value.length < MAX_VALUE ? this.value + String.fromCharCode(byte) : null;
  }

  private endAttribute(byte: number): void {
    if (KEPT.has(this.attribute) && !this.attributes?.has(this.attribute)) this.attributes?.set(this.attribute, this.value);
    this.state = 'before attribute';
    if (byte === GT) this.tagEnd();
  }

  private tagEnd(): void {
    this.state = 'text';
    if (this.name === 'template') this.templates = Math.max(0, this.templates + (this.closing ? -1 : 1));
    if (this.closing) return;
    if (this.attributes !== null && this.templates === 0) this.onTag(this.name, this.attributes);
    if (RAW_TEXT.has(this.name)) this.raw = this.name;
    else if (UNSEARCHED.has(this.name)) this.state = 'over';
  }

  /** After `<!`: a comment, or within a script the beginning of its escaped part. */
  private markup(byte: number, position: number): void {
    if (byte === DASH) {
      this.dashes++;
      if (this.dashes < 2) return;
      this.fresh = true;
      this.bang = false;
      if (this.raw === '') this.state = 'comment';
      else {
        this.escaped = this.raw === 'script' || this.escaped;
        this.state = 'text';
      }
    } else if (this.raw !== '') this.text(byte, position);
    else this.state = byte === GT ? 'text' : 'bogus comment';
  }

  /** A comment ends at `-->` or `--!>`; the dashes at its beginning count for the former (HTML Standard 13.2.5.43 to 13.2.5.52). */
  private comment(byte: number): void {
    if (byte === GT && (this.bang || this.dashes >= 2)) this.state = 'text';
    this.bang = byte === BANG && this.dashes >= (this.fresh ? 4 : 2);
    this.dashes = byte === DASH ? this.dashes + 1 : 0;
    if (byte !== DASH) this.fresh = false;
  }
}

/** The next byte with this value at `at` or later; the end if there is none. */
function next(bytes: Buffer, byte: number, at: number): number {
  const found = bytes.indexOf(byte, at);
  return found < 0 ? bytes.length : found;
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x09 || byte === 0x0d || byte === 0x0c;
const endsName = (byte: number): boolean => byte === GT || byte === SLASH || isSpace(byte);
const isLetter = (byte: number): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
const lower = (byte: number): string => String.fromCharCode(byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);

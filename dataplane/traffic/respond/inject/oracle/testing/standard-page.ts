import { html, parse, serialize, type DefaultTreeAdapterTypes as Tree } from 'parse5';

type SeenElement = { readonly element: Tree.Element; readonly inert: boolean };

/** A document as read by a parser that follows the HTML Standard to the letter. */
export class StandardPage {
  private readonly document: Tree.Document;
  private readonly elements: readonly SeenElement[];

  constructor(text: string) {
    this.document = parse(text, { sourceCodeLocationInfo: true, scriptingEnabled: true });
    this.elements = [...walk(this.document, false)];
  }

  /** Elements of this name that take effect, each with its attributes and where its tag begins (UTF-16 code units). */
  living(name: string): readonly { readonly at: number; readonly attributes: ReadonlyMap<string, string> }[] {
    return this.elements.flatMap(({ element, inert }) =>
      inert || element.tagName !== name || element.namespaceURI !== html.NS.HTML || !element.sourceCodeLocation
        ? []
        : [{ at: element.sourceCodeLocation.startOffset, attributes: new Map(element.attrs.map((one) => [one.name, one.value])) }],
    );
  }

  /** The position of the `</head>` that ends the head, if there is one. */
  get headEnd(): number | null {
    const head = this.elements.find(({ element, inert }) => !inert && element.tagName === 'head')?.element;
    return head?.sourceCodeLocation?.endTag?.startOffset ?? null;
  }

  /** Whether a template is closed only by the end of the document. */
  get leavesTemplateOpen(): boolean {
    return this.elements.some(({ element }) => element.tagName === 'template' && !element.sourceCodeLocation?.endTag);
  }

  /** Removes the script element that begins at `at`. @returns null if there is no such script. */
  without(at: number): string | null {
    const found = this.elements.find(
      ({ element, inert }) => !inert && element.tagName === 'script' && element.sourceCodeLocation?.startOffset === at,
    )?.element;
    if (found?.parentNode == null || found.namespaceURI !== html.NS.HTML) return null;
    found.parentNode.childNodes.splice(found.parentNode.childNodes.indexOf(found), 1);
    return this.text;
  }

  get text(): string {
    return `${this.document.mode} ${serialize(this.document)}`;
  }
}

/** Yields each element in the order of the document. The content of templates is inert. */
function* walk(node: Tree.Node, inert: boolean): Generator<SeenElement> {
  if ('tagName' in node) yield { element: node, inert };
  if ('content' in node) yield* walk(node.content, true);
  if ('childNodes' in node) for (const child of node.childNodes) yield* walk(child, inert);
}

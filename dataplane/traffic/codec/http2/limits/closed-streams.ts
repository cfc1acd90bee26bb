/** How many closed streams are remembered. */
const MAX_REMEMBERED = 256;
const NONE = new Int32Array(0);

/** The most recently closed streams of a connection, to distinguish a late frame from an invalid one (RFC 9113 5.1). */
export class ClosedStreams {
  /** A ring of identifiers; those that were reset are negative. Made when the first stream closes: an idle connection has none. */
  private ids: Int32Array = NONE;
  private next = 0;

  /** `wasReset`: whether we have reset it before the peer had ended its side, so that frames may still be under way. */
  add(id: number, wasReset: boolean): void {
    if (this.ids.length === 0) this.ids = new Int32Array(MAX_REMEMBERED);
    this.ids[this.next] = wasReset ? -id : id;
    this.next = (this.next + 1) % MAX_REMEMBERED;
  }

  /** Whether we have reset it before the peer had ended its side; undefined if it is not remembered. */
  get(id: number): boolean | undefined {
    const { ids } = this;
    // The newest entry counts.
    for (let back = 1; back <= ids.length; back++) {
      const at = ids[(this.next - back + MAX_REMEMBERED) % MAX_REMEMBERED];
      if (at === id) return false;
      if (at === -id) return true;
    }
    return undefined;
  }
}

/** The cookie that keeps a browser in its share, if it has no other name. */
export const USUAL_SPLIT_COOKIE = 'sluice_split';
/** What decides the share of a request. */
export const DRAWN_BY = ['request', 'address', 'header', 'cookie'] as const;
/** The maximum number of parts of a share. */
export const MAX_PARTS = 1_000_000;

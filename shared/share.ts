/** The cookie that keeps a browser in its share, if it has no other name. */
export const USUAL_SPLIT_COOKIE = 'sluice_split';
/** What draws of requests depend on. */
export const DRAWN_BY = ['request', 'address', 'header', 'cookie'] as const;
/** Most parts of which a share consists. */
export const MOST_PARTS = 1_000_000;

"use strict";
// The command line runs as scripts (docs/adr/0027), in which import() fails. Node loads this file itself, so here it works.
module.exports = (name) => import(name);

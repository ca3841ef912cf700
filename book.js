// What the book changes of mdBook's pages, so that they can be used by keys and read aloud.

// What scrolls can be reached by keys as well.
function reach() {
    for (const part of document.querySelectorAll("pre > code, .table-wrapper")) {
        if (part.scrollWidth > part.clientWidth) {
            part.tabIndex = 0;
        } else {
            part.removeAttribute("tabindex");
        }
    }
}

addEventListener("load", reach);
addEventListener("resize", reach);

// A label may not have what a button has, unless it says that it is one.
document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
